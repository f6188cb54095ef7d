"""Builds gputrace with Spack: copy this folder to packages/gputrace of a repository of packages, the source archive
(`make dist`) beside it, and say `spack install gputrace`."""
import os

from spack.package import *


class Gputrace(MakefilePackage):
    """Traces what any CUDA program does on the GPU, and says where the time went."""

    url = "file://" + os.path.join(os.path.dirname(__file__), "gputrace-0.1.0.tar.gz")
    version("0.1.0")

    depends_on("c", type="build")
    depends_on("cuda@12:")
    depends_on("binutils+libiberty")
    for library in ("cjson", "elfutils", "libdeflate", "lz4", "sqlite", "zlib-api"):
        depends_on(library)

    @property
    def settings(self):
        return [f"PREFIX={self.prefix}", f"CUDA_HOME={self.spec['cuda'].prefix}"]

    def build(self, spec, prefix):
        make("all", *self.settings)

    def install(self, spec, prefix):
        make("install", *self.settings)
