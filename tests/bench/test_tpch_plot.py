"""The plot of the documentation shows what was measured."""

import json
from xml.etree import ElementTree

from bench.tpch import RESULTS
from bench.tpch_plot import PICTURE, picture


def test_the_picture_is_that_of_the_results() -> None:
    text = PICTURE.read_text()
    assert text == picture(json.loads(RESULTS.read_text()))
    assert len(ElementTree.fromstring(text)) > 50
