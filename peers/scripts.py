"""What the model does in each scenario, and what a client that does it right ends with."""

from __future__ import annotations

from typing import Any

FINAL = "Paris has 21 °C, that is 69.8 °F; Rome has 30 °C."
AGAIN = "As I said: 69.8 °F."

LOOP: list[dict[str, Any]] = [
    {"says": "Let me look.", "calls": [["weather", {"city": "Paris"}], ["weather", {"city": "Rome"}]]},
    {"calls": [["fahrenheit", {"celsius": 21}]]},
    {"says": FINAL},
    {"says": AGAIN},
]
THOUGHTFUL = [{"thinks": "Two cities, two calls.", **LOOP[0]}, *LOOP[1:]]
COUNTED: list[dict[str, Any]] = [
    {**LOOP[0], "input_tokens": 100, "output_tokens": 20},
    {**LOOP[2], "input_tokens": 300, "output_tokens": 40},
]
# Arguments that are no JSON, of a wrong type, and one call that is right; then a call that is right.
MISTAKEN: list[dict[str, Any]] = [
    {"calls": [["weather", '{"city": "Par'], ["weather", {"city": ["Paris"]}], ["weather", {"city": "Rome"}]]},
    {"calls": [["weather", {"city": "Paris"}]]},
    {"says": FINAL},
]
SHOWN: list[dict[str, Any]] = [{"calls": [["photo", {"city": "Paris"}]]}, {"says": FINAL}]
# The smallest PNG: one pixel.
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
FLAKY: list[dict[str, Any]] = [{"fails": 529, "retry_after": 0}, LOOP[0], {"fails": 500, "retry_after": 0}, *LOOP[1:]]


def weather(city: str) -> str:
    """The weather in a city.

    Args:
        city: Its name.
    """
    return {"Paris": "21 °C", "Rome": "30 °C"}[city]


def fahrenheit(celsius: float) -> float:
    """The same temperature in degrees Fahrenheit."""
    return round(celsius * 9 / 5 + 32, 1)
