"""What a pass is: a small frozen dataclass whose fields are its options, usable by name and in jaxlib's PassManager."""

from __future__ import annotations

import dataclasses
import inspect
from dataclasses import dataclass
from typing import Any, ClassVar

from ..validator.compat import ir


class PassFailure(Exception):
    """A pass cannot go on, because of what is at a location."""

    def __init__(self, location: ir.Location, message: str) -> None:
        super().__init__(message)
        self.location = location
        self.message = message


class OptionError(ValueError):
    """An option that a pass does not have, or a value that it cannot take."""


@dataclass(frozen=True)
class ModulePass:
    """A rewrite of one `builtin.module` in place.

    `name` is what command lines and pipelines call it. An instance can be given to jaxlib's
    `PassManager("builtin.module").add` as it is.
    """

    name: ClassVar[str]

    def apply(self, module: ir.Operation) -> None:
        """Rewrites the module; raises `PassFailure` where it cannot."""
        raise NotImplementedError

    def __call__(self, op: ir.Operation, handle: Any) -> None:
        """What a PassManager calls; a failure becomes an MLIR error at its location and fails the pass manager."""
        try:
            with op.context, ir.Location.unknown():
                self.apply(op)
        except PassFailure as failure:
            failure.location.emit_error(failure.message)  # type: ignore[attr-defined]
            handle.signal_pass_failure()

    @property
    def __name__(self) -> str:  # PassManager asks every pass for it
        return self.name

    @classmethod
    def summary(cls) -> str:
        """The first line of the documentation."""
        return inspect.cleandoc(cls.__doc__ or "").partition("\n")[0]

    @classmethod
    def options(cls) -> tuple[dataclasses.Field[Any], ...]:
        """The fields that a pipeline can set: numbers, words and switches."""
        return tuple(field for field in dataclasses.fields(cls) if isinstance(field.default, bool | int | str))

    @classmethod
    def with_options(cls, texts: dict[str, str]) -> ModulePass:
        """The pass with options as a pipeline writes them; raises `OptionError`."""
        fields = {field.name.replace("_", "-"): field for field in cls.options()}
        values: dict[str, Any] = {}
        for key, text in texts.items():
            if key not in fields:
                known = ", ".join(f"'{name}'" for name in fields) or "none"
                raise OptionError(f"pass '{cls.name}' has no option '{key}', its options are: {known}")
            values[fields[key].name] = _value(cls.name, key, text, fields[key].default)
        try:
            return cls(**values)
        except ValueError as error:
            raise OptionError(f"pass '{cls.name}': {error}") from None

    def __str__(self) -> str:
        """As a pipeline writes it: the name and the options that are not the default."""
        told = [
            f"{field.name.replace('_', '-')}={_text(getattr(self, field.name))}"
            for field in self.options()
            if getattr(self, field.name) != field.default
        ]
        return f"{self.name}{{{' '.join(told)}}}" if told else self.name


def _value(name: str, key: str, text: str, default: Any) -> Any:
    """The value that a text says, of the default's type."""
    if isinstance(default, bool):
        if text not in ("true", "false"):
            raise OptionError(f"option '{key}' of pass '{name}' is 'true' or 'false', not '{text}'")
        return text == "true"
    if isinstance(default, int):
        if not text.isdecimal() or len(text) > 18:
            raise OptionError(f"option '{key}' of pass '{name}' is a number, not '{text}'")
        return int(text)
    return text


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
