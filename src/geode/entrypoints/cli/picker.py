"""The picker on a terminal: keys go to `geode.domain.picking.pressed`, and its state is shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from prompt_toolkit.application import Application, get_app
from prompt_toolkit.data_structures import Point
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import ConditionalContainer, FormattedTextControl, HSplit, Layout, Window
from prompt_toolkit.layout.dimension import Dimension
from prompt_toolkit.output import Output

from geode.domain.picking import Applied, Discarded, Key, Picker, pressed
from geode.entrypoints.cli import picker_shown as shown

_KEYS: Final[Mapping[str, Key]] = {
    "up": "up",
    "down": "down",
    "left": "left",
    "right": "right",
    "tab": "tab",
    " ": "space",
    "enter": "enter",
    "backspace": "backspace",
    "delete": "backspace",
    "escape": "escape",
    "q": "escape",
    "c-c": "escape",
    "c-d": "escape",
}
# How long a lone Escape waits to be the beginning of an arrow, in seconds.
_ESCAPE_SECONDS: Final = 0.05


def picking(picker: Picker, *, input: Input | None = None, output: Output | None = None) -> Application[Applied | Discarded]:
    """The application that picks: `run()` it, or `await run_async()`. It leaves nothing on the screen."""
    return _Screen(picker).application(input, output)


class _Screen:
    def __init__(self, picker: Picker) -> None:
        self._picker = picker

    def application(self, input: Input | None, output: Output | None) -> Application[Applied | Discarded]:
        rows = FormattedTextControl(
            lambda: shown.row_lines(self._picker, _columns()),
            get_cursor_position=lambda: Point(0, self._picker.cursor),
            show_cursor=False,
            focusable=True,
        )
        layout = HSplit(
            [
                _lines(lambda: shown.roles_line(self._picker)),
                Window(rows, height=Dimension(min=1)),
                _lines(lambda: shown.effort_line(self._picker)),
                _lines(lambda: shown.reason_line(self._picker)),
                _lines(lambda: [("ansigray", shown.HELP)]),
            ]
        )
        application: Application[Applied | Discarded] = Application(
            Layout(layout), key_bindings=self._bindings(), erase_when_done=True, input=input, output=output
        )
        application.ttimeoutlen = application.timeoutlen = _ESCAPE_SECONDS
        return application

    def _bindings(self) -> KeyBindings:
        bindings = KeyBindings()
        for name, key in _KEYS.items():
            self._bind(bindings, name, key)
        return bindings

    def _bind(self, bindings: KeyBindings, name: str, key: Key) -> None:
        def press(event: KeyPressEvent) -> None:
            found = pressed(self._picker, key)
            if isinstance(found, Picker):
                self._picker = found
            else:
                event.app.exit(result=found)

        bindings.add(name, eager=True)(press)


def _lines(fragments: Callable[[], StyleAndTextTuples]) -> ConditionalContainer:
    """Text that takes no more lines than it has, and none where there is none."""
    window = Window(FormattedTextControl(fragments), wrap_lines=True, dont_extend_height=True)
    return ConditionalContainer(window, Condition(lambda: bool(fragments())))


def _columns() -> int:
    return get_app().output.get_size().columns
