"""TextCliModel: the model port over a program that is started for each call."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from returns.result import Failure, Result

from geode.adapters.http_json.endpoint import Endpoint
from geode.adapters.text_cli.process import Ran, run
from geode.adapters.text_cli.programs import Answer, Asked, TextProgram, not_asked
from geode.adapters.text_cli.transcript import transcript
from geode.domain.answer_schema import sent_answer
from geode.domain.failures import CallFailure, effective_status
from geode.domain.json_value import dump_json
from geode.domain.models import ModelRow
from geode.domain.reply import AdapterCallResult
from geode.domain.request import AdapterCallRequest, Capabilities
from geode.ports.credentials import CredentialError, CredentialUnavailable
from geode.ports.model import Emit, TextPart

if TYPE_CHECKING:
    from pydantic import SecretStr

_NO_CREDENTIAL: Final = "authentication_error"
_UNAUTHORIZED: Final = 401
# A day: no clock of a program counts further than it has to.
_MOST_SECONDS: Final = 86_400.0


@dataclass(frozen=True, slots=True)
class TextCliModel:
    """A program asked one text for each call. See `geode.ports.model.ModelAdapter`.

    Tools, pictures and temperatures are not sent, whoever asks; what a reply says comes as one delta at its end. Who pays
    is the credential of `endpoint`, or else the login that the program keeps in the folder `login`.
    """

    name: str
    capabilities: Capabilities
    program: TextProgram
    bin: str
    endpoint: Endpoint
    login: str = ""

    async def acomplete(self, request: AdapterCallRequest, emit: Emit) -> Result[AdapterCallResult, CallFailure]:
        try:
            secret = await self.endpoint.secret()
        except CredentialUnavailable as error:
            return Failure(CallFailure(None, "connect", str(error)))
        except CredentialError as error:
            return Failure(CallFailure(None, "connect", str(error), _NO_CREDENTIAL))
        answer = await self._asked(self._question(request, secret))
        failure = answer.swap().value_or(None)
        if failure is not None:
            if effective_status(failure) == _UNAUTHORIZED:
                self.endpoint.refused(secret)
            return Failure(self._discreet(failure))
        reply = answer.unwrap()
        if request.streamed and reply.text:
            await emit(TextPart(0, reply.text))
        return answer

    def _question(self, request: AdapterCallRequest, secret: SecretStr | None) -> Asked:
        prompt = transcript(request.conversation)
        mark = self.program.command_mark
        if mark and prompt.startswith(mark):
            prompt = transcript(request.conversation, bare=False)
        return Asked(
            request.model,
            prompt,
            request.system,
            self._schema(request),
            request.effort or "",
            "subscription" if secret is None else "api_key",
            "" if secret is None else secret.get_secret_value(),
            str(Path(self.login).expanduser()) if self.login else "",
            self.endpoint.base_url,
            min(request.limits.call_timeout_seconds, _MOST_SECONDS),
        )

    def _schema(self, request: AdapterCallRequest) -> str:
        """The schema of the answer, as JSON, in the form that the program passes on."""
        schema, profile = request.response_schema, self.capabilities.schemas
        if schema is None:
            return ""
        return dump_json(sent_answer(schema, profile)[0] if profile is not None and profile.answers_closed else schema)

    async def _asked(self, asked: Asked) -> Answer:
        if problem := self.program.problem(asked):
            return Failure(problem)
        found = program_path(self.bin)
        if found is None:
            return Failure(not_asked(no_program(self.name, self.bin)))
        try:
            ran = await run(found, lambda folder: self.program.invocation(asked, folder), asked.seconds, self.program.hopeless)
        except OSError as error:
            return Failure(not_asked(f"{self.bin} cannot be started ({error.strerror or type(error).__name__})", WAY_OUT))
        answer = self.program.answer(asked, ran)
        return Failure(_unanswered(self.program.word, asked, ran)) if answer is None else answer

    def _discreet(self, failure: CallFailure) -> CallFailure:
        clean = self.endpoint.discreet
        subscription = failure.subscription or self.endpoint.subscription
        return replace(failure, message=clean(failure.message), subscription=subscription)


WAY_OUT: Final = "Install the program, or write where it is: bin in its [providers] table of routing.toml"


def program_path(bin: str) -> str | None:
    """The file that is started: a path as it is, a name by PATH."""
    return shutil.which(Path(bin).expanduser())


def no_program(adapter: str, bin: str) -> str:
    """What is said where there is none."""
    return f"{adapter}: there is no program {bin} that can be run. {WAY_OUT}"


def _unanswered(word: str, asked: Asked, ran: Ran) -> CallFailure:
    """The facts where it did not say how the call ended."""
    said = f": {ran.complaint}" if ran.complaint else ""
    if ran.late:
        way_out = "Policy(call_timeout_seconds=…)"
        message = f"{word} did not answer within {asked.seconds:g} s and was ended"
        return CallFailure(None, "stream", message, timed_out=True, way_out=way_out)
    if ran.endless:
        return CallFailure(None, "response", f"{word} printed too much for an answer and was ended")
    if ran.code is not None and ran.code < 0:
        return CallFailure(None, "stream", f"{word} was ended by {_signal(-ran.code)}{said}")
    return CallFailure(None, "response", f"{word} ended with code {ran.code} and no answer{said}")


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def text_cli_model(
    name: str, program: TextProgram, bin: str, endpoint: Endpoint, *, login: str = "", rows: Sequence[ModelRow] = ()
) -> TextCliModel:
    """The adapter `name` over `program`, whose file is `bin`."""
    return TextCliModel(name, replace(program.capabilities, models=tuple(rows)), program, bin, endpoint, login)
