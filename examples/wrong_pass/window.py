import jax
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


def window(x, start):
    return lax.dynamic_slice(x, (start,), (6,))


mesh = Mesh(jax.devices()[:2], ("x",))
split, whole = NamedSharding(mesh, P("x")), NamedSharding(mesh, P())
lowered = jax.jit(window, in_shardings=(split, whole), out_shardings=split).lower(np.arange(8), 7)
lowered.compile({"xla_dump_to": "dump", "xla_dump_hlo_pass_re": ".*", "xla_dump_hlo_as_proto": True})
