from derive_bench import adapter as adapter
from derive_bench.adapter import *
