"""A browser for tests: Debian's Chromium, without a window.

It is installed where it is missing, if this user may do that.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

_NEEDED = ("chromium", "chromedriver")


@cache
def installed() -> bool:
    if all(map(shutil.which, _NEEDED)):
        return True
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return False
    for words in (["update"], ["install", "--yes", "--no-install-recommends", "chromium", "chromium-driver"]):
        subprocess.run(["apt-get", "-qq", *words], check=True, env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"})
    return all(map(shutil.which, _NEEDED))


@contextmanager
def browser(width: int = 1200, height: int = 900, *, dark: bool = False) -> Iterator["Chrome"]:
    """A browser with a window of this size."""
    if not installed():
        pytest.skip("there is no Chromium here, and only root may install it: apt-get install chromium chromium-driver")
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    options = ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for word in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "hide-scrollbars"):
        options.add_argument(f"--{word}")
    found = Chrome(options, Service(shutil.which("chromedriver") or ""))
    try:
        scheme = {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]}
        found.execute_cdp_cmd("Emulation.setEmulatedMedia", scheme)
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        found.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        yield found
    finally:
        found.quit()
