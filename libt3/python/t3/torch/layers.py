# SPDX-License-Identifier: MIT
"""Linear layers that are cut over the ranks of a group, as tensor parallelism wants them.

A column-parallel layer has a part of the outputs on each rank, and a row-parallel one, which
follows it, a part of the inputs. So the output of the second is a sum over the ranks, and so is the
gradient of the first one's input. T3 makes these sums while the product is made.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist

from t3.torch import recording
from t3.torch.product import Product, times
from t3.torch.work import plain_tensors


class Ways:
    """The group of a layer, and how its products are summed."""

    def __init__(self, group: Any, is_scattered: bool, sum_dtype: torch.dtype | None) -> None:
        self._group = group if group is not None else dist.distributed_c10d._get_default_group()
        self._ours = getattr(self._group, "t3_group", None)  # of another backend it has none
        self.is_scattered, self._sum_dtype = is_scattered, sum_dtype
        self.rank, self.ranks = self._group.rank(), self._group.size()

    def summed(self, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        """The sum over the ranks of left @ right. Where tokens are scattered, this rank's rows."""
        shape = left.shape[:-1]
        if self.is_scattered and shape[0] % self.ranks:
            raise ValueError(f"tokens are scattered over {self.ranks} ranks, and the first "
                             f"dimension of {tuple(left.shape)} does not divide")
        dtype = self._sum_dtype or left.dtype
        flat = left.reshape(-1, left.shape[-1])
        name = "matmul_reduce_scatter" if self.is_scattered else "matmul_all_reduce"
        if self.is_scattered:
            shape = torch.Size((shape[0] // self.ranks, *shape[1:]))
        if recorder := recording.active():
            recorder.summed_product(name, self.ranks, flat, right, dtype)
            if left.is_meta:
                return left.new_empty((*shape, right.shape[1]))
        with recording.hidden():
            product = Product(flat, right, self.ranks, dtype)
            target = self._reduce(product, name)
        if recorder:
            recorder.written(target)
        wanted = target[:shape.numel() * product.columns].view(*shape, product.columns)
        return wanted.to(left.dtype)

    def _reduce(self, product: Product, name: str) -> torch.Tensor:
        """With another backend the product is made, and then summed."""
        part = product.part * product.columns
        if self._ours is None:
            whole = product.whole()
            dist.all_reduce(whole, group=self._group)
            return whole[self.rank * part:(self.rank + 1) * part] if self.is_scattered else whole
        with plain_tensors():  # another thread may write it
            target = torch.empty(part * (1 if self.is_scattered else self.ranks),
                                 dtype=product.dtype)
        self._ours.submit(name, [target], lambda call: call.reduce_product(
            target, product, self.is_scattered)).wait()
        return target

    def gathered(self, part: torch.Tensor) -> torch.Tensor:
        """The rows of all ranks where they are scattered."""
        if not self.is_scattered:
            return part
        rows = [part.new_empty(part.shape) for _ in range(self.ranks)]
        dist.all_gather(rows, part.contiguous(), group=self._group)
        return torch.cat(rows)

    def part_of(self, size: int, what: str) -> slice:
        """This rank's part of a dimension."""
        if size % self.ranks:
            raise ValueError(f"{what} is cut over {self.ranks} ranks, and {size} does not divide")
        part = size // self.ranks
        return slice(self.rank * part, (self.rank + 1) * part)


class RowParallel(torch.autograd.Function):
    """The sum over the ranks of inputs @ weight^T, and the bias once."""

    @staticmethod
    def forward(ctx: Any, inputs: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None,
                ways: Ways) -> torch.Tensor:
        ctx.ways = ways
        ctx.save_for_backward(inputs, weight)
        output = ways.summed(inputs, weight.t())
        return output if bias is None else output.add_(bias)

    @staticmethod
    @torch.autograd.function.once_differentiable  # type: ignore[misc]
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        inputs, weight = ctx.saved_tensors
        needs = ctx.needs_input_grad
        whole = ctx.ways.gathered(grad)
        return (times(whole, weight) if needs[0] else None,
                of_weight(whole, inputs) if needs[1] else None,
                of_bias(whole) if needs[2] else None, None)


class ColumnParallel(torch.autograd.Function):
    """inputs @ weight^T + bias, of this rank's part of the outputs."""

    @staticmethod
    def forward(ctx: Any, inputs: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None,
                ways: Ways) -> torch.Tensor:
        whole = ways.gathered(inputs)
        ctx.ways = ways
        ctx.save_for_backward(whole, weight)
        output = times(whole, weight.t())
        return output if bias is None else output.add_(bias)

    @staticmethod
    @torch.autograd.function.once_differentiable  # type: ignore[misc]
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        whole, weight = ctx.saved_tensors
        needs = ctx.needs_input_grad
        return (ctx.ways.summed(grad, weight) if needs[0] else None,
                of_weight(grad, whole) if needs[1] else None,
                of_bias(grad) if needs[2] else None, None)


def of_weight(grad: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
    return times(grad.reshape(-1, grad.shape[-1]).t(), inputs.reshape(-1, inputs.shape[-1]))


def of_bias(grad: torch.Tensor) -> torch.Tensor:
    return grad.reshape(-1, grad.shape[-1]).sum(0)


class Cut(torch.nn.Module):
    """A linear layer of which this rank has a part."""

    function: Any
    dimension: int  # of the weight that is cut

    def __init__(self, in_features: int, out_features: int, bias: bool = True, *, group: Any = None,
                 sequence_parallel: bool = False, sum_dtype: torch.dtype | None = None,
                 dtype: torch.dtype | None = None, device: Any = None) -> None:
        """Features are those of the whole. With one seed all ranks get the weights of nn.Linear.

        group: the ranks, or None for all. With another backend than t3 a product is made first and
        summed then. sequence_parallel: the tokens, which are the first dimension, are scattered
        over the ranks outside the pair of layers. sum_dtype: the type of products and sums, such as
        float32 where the parameters are bfloat16; without it, that of the input, which rounds after
        each addition. device: "cpu", or "meta" for parameters without values, for profile().
        Errors: ValueError: the dimension that is cut does not divide.
        """
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.sequence_parallel = sequence_parallel
        self._ways = Ways(group, sequence_parallel, sum_dtype)
        whole = torch.nn.Linear(in_features, out_features, bias, device=device, dtype=dtype)
        part = self._ways.part_of(whole.weight.shape[self.dimension],
                                  ("out_features", "in_features")[self.dimension])
        weight = whole.weight.detach()
        self.weight = torch.nn.Parameter(
            (weight[part] if self.dimension == 0 else weight[:, part]).clone())
        if whole.bias is None:
            self.register_parameter("bias", None)
        else:
            begin = whole.bias.detach()
            self.bias = torch.nn.Parameter((begin[part] if self.dimension == 0 else begin).clone())

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        if inputs.shape[-1] != self.weight.shape[1] or inputs.dtype != self.weight.dtype:
            raise ValueError(f"the layer takes {self.weight.shape[1]} features of "
                             f"{self.weight.dtype}, and the input has {inputs.shape[-1]} of "
                             f"{inputs.dtype}")
        made: torch.Tensor = self.function.apply(inputs, self.weight, self.bias, self._ways)
        return made

    def extra_repr(self) -> str:
        return (f"in_features={self.in_features}, out_features={self.out_features}, "
                f"bias={self.bias is not None}, rank={self._ways.rank} of {self._ways.ranks}, "
                f"sequence_parallel={self.sequence_parallel}")


class RowParallelLinear(Cut):
    """y = sum over the ranks of x A^T, and b: each rank has a part of in_features.

    x has the part of the features that a ColumnParallelLinear of the same group makes. y is the
    whole, at all ranks; with sequence_parallel it has this rank's part of the tokens.
    """

    function, dimension = RowParallel, 1


class ColumnParallelLinear(Cut):
    """y = x A^T + b: each rank has a part of out_features.

    x is the same at all ranks; with sequence_parallel it has this rank's part of the tokens. The
    gradient of x is a sum over the ranks, which T3 makes during the backward pass.
    """

    function, dimension = ColumnParallel, 0
