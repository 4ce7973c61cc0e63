"""Docstrings: what is the tool's, what is a parameter's."""

import pytest

from geode.entrypoints.tools.docstring import read_docstring

GOOGLE = """Weather of a city.

    More of it,
    on two lines.

    Args:
        city: The city,
            with its country.
        unit (Literal["c", "f"], optional): The unit: c or f.
        days(int):
            How many.

        *rest: More cities.

    Returns:
        city: not a parameter
    """

NUMPY = """
    Weather of a city.

    Parameters
    ----------
    city : str
        The city,
        with its country.
    lat, lon : float
        The place.
    unit
        The unit.

    Returns
    -------
    str
        The weather.
    """

SPHINX = """Weather of a city.

    :param city: The city,
        with its country.
    :type city: str
    :param dict[str, int] days: How many.
    :returns: The weather
    :raises ValueError: never
    """


@pytest.mark.parametrize(
    ("docstring", "texts"),
    [
        (
            GOOGLE,
            {"city": "The city, with its country.", "unit": "The unit: c or f.", "days": "How many.", "rest": "More cities."},
        ),
        (NUMPY, {"city": "The city, with its country.", "lat": "The place.", "lon": "The place.", "unit": "The unit."}),
        (SPHINX, {"city": "The city, with its country.", "days": "How many."}),
    ],
)
def test_each_style_is_read(docstring: str, texts: dict[str, str]) -> None:
    description, found = read_docstring(docstring)
    assert found == texts
    assert description == ("Weather of a city.\n\nMore of it,\non two lines." if docstring is GOOGLE else "Weather of a city.")


@pytest.mark.parametrize("heading", ["Args", "Arguments", "Parameters", "Params", "Keyword Args", "Other Parameters"])
def test_every_heading_of_google_style(heading: str) -> None:
    assert read_docstring(f"Do it.\n\n{heading}:\n  x: the x\n") == ("Do it.", {"x": "the x"})


@pytest.mark.parametrize("docstring", [None, "", "  \n  "])
def test_no_docstring_is_no_description(docstring: str | None) -> None:
    assert read_docstring(docstring) == ("", {})


@pytest.mark.parametrize(
    "docstring",
    [
        "Take the Args: as they are.",
        ":class:`Foo` is made of it.",
        "Sum up.\n\nReturns:\n    The sum.",
        "Note: x: y\n\nParameters are few.",
    ],
)
def test_what_only_looks_like_a_section_stays_in_the_description(docstring: str) -> None:
    assert read_docstring(docstring) == (docstring, {})


def test_a_parameter_without_text_is_left_out() -> None:
    assert read_docstring("Do.\n\nArgs:\n    x:\n    y: the y\n    z (int):\n") == ("Do.", {"y": "the y"})


def test_an_empty_section_ends_the_description() -> None:
    assert read_docstring("Do.\n\nArgs:\n") == ("Do.", {})
    assert read_docstring("Do.\n\nArgs:\nNext.") == ("Do.", {})
