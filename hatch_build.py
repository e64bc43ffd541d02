"""Builds the little C code of reliac along with the package; where there is no C compiler, reliac does without."""

from __future__ import annotations

import runpy
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CustomBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """What hatchling calls before it makes a wheel, or installs the package so that it can be edited."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the library, and put it into the wheel, which is then one for this kind of machine."""
        building = runpy.run_path(str(Path(self.root, "src/reliac/native/building.py")))
        try:
            path: Path = building["build"]()
        except (OSError, subprocess.CalledProcessError) as error:
            told = getattr(error, "stderr", None) or str(error)
            self.app.display_warning(
                f"reliac is built without its C code, small inputs and given distances take longer: {told}"
            )
            return
        build_data["artifacts"].append(path.relative_to(self.root).as_posix())
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"], build_data["tag"] = False, f"py3-none-{platform}"
