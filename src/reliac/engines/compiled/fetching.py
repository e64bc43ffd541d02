"""Asking for memory before it is needed: loops that know where they will read next need not wait for it there."""

from __future__ import annotations

from typing import Any

from .loading import PLAIN, bare_inlined


def _do_nothing(array, index):
    """Stand in for :func:`fetch` where the processor cannot be asked."""


fetch: Any = bare_inlined(_do_nothing)

if not PLAIN:
    from llvmlite import ir
    from numba.core import types
    from numba.extending import intrinsic

    @intrinsic
    def fetch(_: Any, array: Any, index: Any) -> Any:
        """Ask for the memory of ``array[index]``, soon to be read. Nothing else happens, not even beyond the end."""

        def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            number, address = ir.IntType(32), ir.IntType(8).as_pointer()
            form = ir.FunctionType(ir.VoidType(), [address, number, number, number])
            ask = builder.module.declare_intrinsic("llvm.prefetch", [address], form)
            place = builder.bitcast(builder.gep(data, [arguments[1]]), address)
            to_read, keep_near, of_data = number(0), number(3), number(1)
            builder.call(ask, [place, to_read, keep_near, of_data])
            return context.get_dummy_value()

        return types.void(array, types.int64), write
