"""Exports the programs of this folder whose names are listed here, with what Python gives for them in expected_more.txt.

    make_samples.py FOLDER      needs torch 2.11.0 (PyPI)
"""
import json
import os
import re
import sys
import zipfile

import torch
from torch import nn
from torch._higher_order_ops import scan, while_loop
from torch.export import Dim, export, save
from torch.export.pt2_archive._package import package_pt2
from torch.utils.checkpoint import checkpoint

torch.set_num_threads(1)
folder = sys.argv[1]
lines = ["What Python gives, as in expected.txt. Gradients of while_loop are those of the loop written out: PyTorch 2.11's are wrong."]


class Model(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function
        self.p = nn.Parameter(torch.tensor([1.5, -0.5, 2.0]))
        self.register_buffer("b", torch.tensor([0.5, -1.0, 2.0]))

    def forward(self, *args, **kwargs):
        return self.function(self, *args, **kwargs)


def write_inputs(name, inputs):
    with open(os.path.join(folder, name + ".pt2.in"), "w", encoding="utf-8") as file:
        file.write(f"{len(inputs)}\n")
        for x in inputs:
            values = " ".join(repr(float(v)) if x.is_floating_point() else str(int(v)) for v in x.flatten())
            file.write(f"{int(x.is_floating_point())} {x.dim()} {' '.join(map(str, x.shape))} {values}\n")


def without_paths(program):
    """Lines of Python stay, the folders of this machine do not."""
    for module in program.graph_module.modules():
        for node in getattr(module, "graph", torch.fx.Graph()).nodes:
            trace = node.meta.get("stack_trace")
            if trace:
                node.meta["stack_trace"] = re.sub(r'File "[^"]*/', 'File "', trace)
    return program


def exported(*args, **options):
    return without_paths(export(*args, **options))


def sample(name, model, inputs, truth=None, **options):
    """`truth` is the same function written with ordinary ops, for what Python differentiates wrongly."""
    program = exported(model, tuple(x.clone() for x in inputs), **options)
    save(program, os.path.join(folder, name + ".pt2"))
    write_inputs(name, inputs)
    torch.manual_seed(0)
    results = (truth or model)(*[x.clone() for x in inputs])
    results = results if isinstance(results, (tuple, list)) else [results]
    loss = sum(r.float().sum() for r in results if isinstance(r, torch.Tensor) and r.requires_grad)
    loss.backward()
    source = truth or model
    lines.append(f"== {name} loss {loss.item():.9g}")
    lines.append("    " + str({n: float(f"{p.grad.double().pow(2).sum().item():.9g}")
                               for n, p in source.named_parameters() if p.grad is not None}))
    lines.append("   buffers " + str({n: float(f"{b.double().sum().item():.9g}") for n, b in source.named_buffers()}))


torch.manual_seed(1)
x = torch.randn(4, 3)


def three_times(s, x):
    return while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * s.p), (torch.tensor(0), x))[1]


def until_large(s, x):
    return while_loop(lambda x: x.abs().sum() < 100, lambda x: (x * s.p * 1.5,), (x,))[0]


def written_out(s, x):
    while x.abs().sum() < 100:
        x = x * s.p * 1.5
    return x


sample("while_fixed", Model(three_times), [x], truth=Model(lambda s, x: x * s.p * s.p * s.p))
sample("while_data", Model(until_large), [x], truth=Model(written_out))


def scanned(s, x):
    last, all_of_them = scan(lambda c, r: (c * r + 1, c + r), torch.ones(3), x * s.p)
    return last.sum() + (all_of_them * s.p).sum()


def scan_written_out(s, x):
    c, total = torch.ones(3), 0
    for r in x * s.p:
        total = total + ((c + r) * s.p).sum()
        c = c * r + 1
    return c.sum() + total


sample("scan", Model(scanned), [x], truth=Model(scan_written_out))


def changed(source, name, change):
    """A sample made of another one by changing its program."""
    with zipfile.ZipFile(os.path.join(folder, source + ".pt2")) as old, zipfile.ZipFile(os.path.join(folder, name + ".pt2"), "w") as new:
        for record in old.infolist():
            content = old.read(record)
            if record.filename.endswith("models/model.json"):
                program = json.loads(content)
                change(program)
                content = json.dumps(program)
            new.writestr(record.filename, content)


def any_length(program):
    """The 4 rows of the argument become a symbol."""
    for tensor in program["graph_module"]["graph"]["tensor_values"].values():
        if tensor["sizes"] and tensor["sizes"][0] == {"as_int": 4}:
            tensor["sizes"][0] = {"as_expr": {"expr_str": "Symbol('s44', positive=True, integer=True)", "hint": {"as_int": 4}}}
    program["range_constraints"]["s44"] = {"min_val": 1, "max_val": 512}


def twenty_turns(program):
    """The condition i < 3 of a loop becomes i < 20."""
    for node in program["graph_module"]["graph"]["nodes"]:
        if node["target"].endswith("while_loop"):
            node["inputs"][0]["arg"]["as_graph"]["graph"]["nodes"][0]["inputs"][1]["arg"] = {"as_int": 20}


changed("scan", "scan_any", any_length)
changed("map", "map_any", any_length)
changed("while_fixed", "while_twenty", twenty_turns)
sample("checkpoint", Model(lambda s, x: checkpoint(lambda x: (x * s.p).sin().exp() * s.p, x, use_reentrant=False)), [x])


def in_region(s, x):
    with torch.no_grad():
        y = torch.tanh((x * s.p).sin().exp() * s.p)
    return y * s.p


def with_region(model, inputs, truth):
    """A checkpoint region. torch.export of 2.11 has none: it inlines them, or fails if it is strict. A region of another kind becomes one."""
    sample("region", model, inputs, truth=truth)
    path, other = os.path.join(folder, "region.pt2"), os.path.join(folder, "region.tmp")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(other, "w") as new:
        for record in old.infolist():
            content = old.read(record)
            if record.filename.endswith("models/model.json"):
                program = json.loads(content)
                for node in program["graph_module"]["graph"]["nodes"]:
                    if node["target"].endswith("wrap_with_set_grad_enabled"):
                        node["target"] = "torch.ops.higher_order.tag_activation_checkpoint"
                        del node["inputs"][0]
                content = json.dumps(program)
            new.writestr(record.filename, content)
    os.replace(other, path)


with_region(Model(in_region), [x], Model(lambda s, x: torch.tanh((x * s.p).sin().exp() * s.p) * s.p))


class Views(nn.Module):
    """Two parameters and a buffer in one storage each, and a frozen parameter."""

    def __init__(self):
        super().__init__()
        both = torch.arange(6.0)
        self.low, self.high = nn.Parameter(both[:3]), nn.Parameter(both[3:])
        self.frozen = nn.Parameter(torch.full((3,), 0.5), requires_grad=False)
        self.register_buffer("rows", torch.arange(6.0).view(2, 3).t()[:, 1])

    def forward(self, x):
        self.rows.add_(x.sum(0).detach())
        return (x * self.low + self.high * self.frozen) * self.rows


sample("views", Views(), [x])


def keeps_old(s, x):
    y = x * s.b.clone() * s.p
    s.b.add_(x.detach().sum(0) + 1)
    return y * s.b


sample("buffers", Model(keeps_old), [x])
model = Model(keeps_old)
save(without_paths(exported(model, (x.clone(),)).run_decompositions()), os.path.join(folder, "buffers_decomp.pt2"))
write_inputs("buffers_decomp", [x])


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.l, self.bn, self.d = nn.Linear(3, 5), nn.BatchNorm1d(5), nn.Dropout(0.5)

    def forward(self, x):
        return self.d(self.bn(self.l(x)).relu())


torch.manual_seed(2)
pair, size = Pair(), {"x": {0: Dim("n", min=2, max=64)}}
package_pt2(os.path.join(folder, "pair.pt2"),
            exported_programs={"train": exported(pair.train(), (x,), dynamic_shapes=size),
                               "eval": exported(pair.eval(), (x,), dynamic_shapes=size)})
save(exported(Model(lambda s, x: x.view(-1, 2, 3).sum(1) * s.p), (x,), dynamic_shapes={"args": ({0: 2 * Dim("half", max=32)},)}),
     os.path.join(folder, "even.pt2"))
write_inputs("even", [x])


@torch.library.custom_op("antegrad_sample::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


twice.register_fake(torch.empty_like)
save(exported(Model(lambda s, x: twice(x) * s.p), (x,)), os.path.join(folder, "custom.pt2"))

with open(os.path.join(folder, "expected_more.txt"), "w", encoding="utf-8") as file:
    file.write("\n".join(lines) + "\n")
