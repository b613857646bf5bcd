from typing import Final

from derive_bench.adapter.book import *
from derive_bench.adapter.channels import *
from derive_bench.adapter.dispatch import *
from derive_bench.adapter.errors import *
from derive_bench.adapter.events import *
from derive_bench.adapter.frames import *
from derive_bench.adapter.inbound import *
from derive_bench.adapter.instruments import *
from derive_bench.adapter.messages import *
from derive_bench.adapter.model import *
from derive_bench.adapter.numbers import *
from derive_bench.adapter.outbound import *
from derive_bench.adapter.protocol import *
from derive_bench.adapter.session import *
from derive_bench.adapter.signing import *

PUBLIC: Final[dict[str, tuple[str, ...]]]
