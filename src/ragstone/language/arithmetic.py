"""Exact decimal arithmetic on a text such as `(1250 - 80) * 1.19`.

Python's parser reads the expression and nothing runs it: only numbers, the operators below and a
few functions are looked at. Its length, its tree, exponents and results are bounded.
"""

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import (
    ROUND_HALF_UP,
    Context,
    Decimal,
    DecimalException,
    DivisionByZero,
    Inexact,
    InvalidOperation,
    Overflow,
)

from ragstone.core.errors import InputError

MAX_CHARS = 500
"""Characters of an expression."""

MAX_NODES = 200
"""Numbers, operators and functions in it."""

DIGITS = 50
"""Digits that are computed with; a result that needs more is rounded and said to be."""

LARGEST = 1_000
"""The largest exponent, of a power and of a result as a power of ten."""


def _floor_divide(context: Context, one: Decimal, other: Decimal) -> Decimal:
    """Return the quotient as a whole number, downwards: decimals by themselves go towards zero."""
    whole, rest = context.divmod(one, other)
    below = bool(rest) and rest.is_signed() != other.is_signed()
    return context.subtract(whole, Decimal(1)) if below else whole


_UNARY: Mapping[type[ast.unaryop], Callable[[Context, Decimal], Decimal]] = {
    ast.UAdd: Context.plus,
    ast.USub: Context.minus,
}
_BINARY: Mapping[type[ast.operator], Callable[[Context, Decimal, Decimal], Decimal]] = {
    ast.Add: Context.add,
    ast.Sub: Context.subtract,
    ast.Mult: Context.multiply,
    ast.Div: Context.divide,
    ast.FloorDiv: _floor_divide,
    ast.Mod: lambda context, one, other: context.subtract(
        one, context.multiply(other, _floor_divide(context, one, other))
    ),
}
FUNCTIONS = ("abs", "max", "min", "round", "sqrt")


@dataclass(frozen=True, slots=True)
class Calculated:
    """A result; one that is not `exact` was rounded to 50 digits."""

    value: Decimal
    exact: bool = True

    @property
    def text(self) -> str:
        """The number without zeros at its end."""
        value = self.value.normalize(Context(prec=DIGITS))
        plain = -DIGITS < value.adjusted() < DIGITS
        return f"{value:f}" if plain else str(value)


def calculate(expression: str) -> Calculated:
    """Return the value of an expression; raises InputError for what is none, or is too large."""
    if not expression.strip() or len(expression) > MAX_CHARS:
        raise InputError(f"An expression has 1 to {MAX_CHARS} characters.")
    text = expression.strip()
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InputError(
            "Not a valid arithmetic expression: write one like (3 + 4) * 2."
        ) from error
    if sum(1 for _ in ast.walk(tree)) > MAX_NODES:
        raise InputError(f"An expression has at most {MAX_NODES} numbers and operators.")
    context = Context(
        prec=DIGITS,
        rounding=ROUND_HALF_UP,
        Emax=LARGEST,
        Emin=-LARGEST,
        traps=[DivisionByZero, InvalidOperation, Overflow],
    )
    try:
        value = _Reader(text, context).value(tree.body)
    except DivisionByZero as error:
        raise InputError("It divides by zero.") from error
    except Overflow as error:
        raise InputError(f"The result has more than {LARGEST:,} digits.") from error
    except (DecimalException, RecursionError) as error:
        raise InputError("It has no result among the decimal numbers.") from error
    return Calculated(value, not context.flags[Inexact])


class _Reader:
    """Reads the tree of one expression, whose text has the numbers as they were written."""

    def __init__(self, text: str, context: Context) -> None:
        self._text = text
        self._context = context

    def value(self, node: ast.expr) -> Decimal:
        """Return the value of a part; raises InputError, DecimalException."""
        match node:
            case ast.Constant(value=int() | float()) if not isinstance(node.value, bool):
                return self._number(node)
            case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
                return _UNARY[type(op)](self._context, self.value(operand))
            case ast.BinOp(left=left, op=ast.Pow(), right=right):
                return self._power(self.value(left), self.value(right))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                return _BINARY[type(op)](self._context, self.value(left), self.value(right))
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS:
                return self._function(name, [self.value(arg) for arg in args])
        raise InputError(
            "Only numbers, + - * / // % ** and parentheses are understood, and "
            f"{', '.join(FUNCTIONS)}."
        )

    def _number(self, node: ast.Constant) -> Decimal:
        # As it was written: a float has lost digits already.
        written = ast.get_source_segment(self._text, node) or ""
        return self._context.create_decimal(written.replace("_", ""))

    def _power(self, base: Decimal, exponent: Decimal) -> Decimal:
        if abs(exponent) > LARGEST:
            raise InputError(f"An exponent is at most {LARGEST:,}.")
        return self._context.power(base, exponent)

    def _function(self, name: str, args: list[Decimal]) -> Decimal:
        context = self._context
        match name, args:
            case "abs", [one]:
                return context.abs(one)
            case "sqrt", [one]:
                return context.sqrt(one)
            case "max", [_, *_]:
                return max(args)
            case "min", [_, *_]:
                return min(args)
            case "round", [one]:
                return self._round(one, 0)
            case "round", [one, places] if places == int(places) and 0 <= places <= DIGITS:
                return self._round(one, int(places))
        raise InputError(f"{name} does not take these arguments.")

    def _round(self, value: Decimal, places: int) -> Decimal:
        """Return the value with so many decimals, halves away from zero: rounding that is asked for
        does not make a result inexact."""
        before = self._context.flags[Inexact]
        rounded = self._context.quantize(value, Decimal(1).scaleb(-places))
        self._context.flags[Inexact] = before
        return rounded
