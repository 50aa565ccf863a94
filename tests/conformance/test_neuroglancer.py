"""Neuroglancer, in a headless browser, draws a mounted volume as it draws the sharded source: the
client that its Python package brings, over nginx, which serves both and knows byte ranges."""

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import threading

import numpy as np
import pytest

from free_port import free_port
from judging import put_file
from mounting import wait_until
from object_sources import build_meshes, volume_info
from precomputed_sources import Scale, Volume, build
from shard_container import MURMUR, Sharding, write_values
from test_views import Precomputed
from tiers import in_turn
from zarr_sources import ZSTD, LITTLE, Array, Level
from zarr_sources import build as build_array

SECONDS = 90  # for one picture; software rendering takes one or two
SIZE = (400, 300)
GZIP = dict(index_encoding="gzip", data_encoding="gzip")


@contextlib.contextmanager
def running(command, log):
    """A process that is ended by its id, whatever happens."""
    with open(log, "wb") as output:
        process = subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL,
                                   stdout=output, stderr=output)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def nginx_configuration(directory, port):
    user = "user root;" if os.geteuid() == 0 else ""
    temporary = "\n".join(f"{name}_temp_path {directory}/{name};" for name in
                          ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    return f"""{user} daemon off; worker_processes 1; pid {directory}/nginx.pid;
error_log {directory}/nginx-error.log;
events {{}}
http {{
{temporary}
access_log {directory}/access.log;
sendfile on;
server {{
  listen 127.0.0.1:{port};
  root {directory}/served;
  default_type application/octet-stream;
  add_header Access-Control-Allow-Origin *;
  add_header Access-Control-Expose-Headers "Content-Range, Content-Length";
}}
}}
"""


class Pyramid(Precomputed):
    """Its levels end at the same place."""

    shapes = [(16, 32, 48), (16, 16, 24)]


@pytest.fixture(scope="module")
def served(module_work, module_mount, unshard_binary):
    """(directory with `source` and `view` of the same datasets, the URL of both, the access log)."""
    source = module_work / "served" / "source"
    for volume in (
            Volume("segmentation", "uint64", scales=[Scale(
                (100, 90, 60), (32, 32, 32), encoding="compressed_segmentation",
                sharding=Sharding(1, 1, 1, **GZIP))]),
            Volume("image", "uint8", scales=[Scale(
                (100, 90, 60), (32, 32, 32), (5, 3, 0), encoding="jpeg",
                sharding=Sharding(0, 2, 1, MURMUR))])):
        build(source, module_work / "unsharded", volume)
    put_file(source / "meshes" / "info", volume_info(mesh="mesh"))
    write_values(source / "meshes" / "s0", Sharding(), {0: np.full(512, 7, "<u8").tobytes()})
    build_meshes(source / "meshes" / "mesh", Sharding(0, 2, 3, MURMUR), "cloudvolume")
    build_array(source, module_work / "unsharded", Array(
        "array", (60, 90, 100), (64, 64, 64), [Level((32, 32, 16))], "uint16",
        codecs=(LITTLE, ZSTD), extra={"dimension_names": ["z", "y", "x"]}))
    module_mount(source, point=module_work / "served" / "view")
    module_mount(source / "array", "view=precomputed", point=module_work / "served" / "volume")
    Pyramid(source / "pyramid", 1)
    module_mount(source / "pyramid", "ro,view=all", point=module_work / "served" / "views")
    subprocess.run([unshard_binary, "copy", "-q", source / "pyramid", module_work / "six", "--ome", "0.6"], check=True)
    module_mount(module_work / "six", "ro,view=zarr3,ome=0.5", point=module_work / "served" / "of 0.6")
    port = free_port()
    configuration = put_file(module_work / "nginx.conf", nginx_configuration(module_work, port))
    binary = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    assert binary, "nginx is not installed"
    log = module_work / "nginx.log"
    with running([binary, "-e", module_work / "nginx-error.log", "-c", configuration], log):
        assert wait_until(lambda: listens(port), 10), log.read_text()
        yield module_work, f"http://127.0.0.1:{port}", module_work / "access.log"


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def viewer(module_work):
    """A neuroglancer viewer whose page is open in a headless browser with software WebGL."""
    import neuroglancer
    browser = shutil.which("chromium")
    assert browser, "chromium is not installed"
    neuroglancer.set_server_bind_address("127.0.0.1")
    made = neuroglancer.Viewer()
    command = [browser, "--headless=new", "--disable-dev-shm-usage", "--use-gl=angle",
               "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-first-run",
               "--disable-background-networking", "--window-size=640,480",
               f"--user-data-dir={module_work / 'browser'}", made.get_viewer_url()]
    if os.geteuid() == 0:
        command.insert(1, "--no-sandbox")
    with running(command, module_work / "browser.log"):
        yield made
    neuroglancer.stop()


def picture(viewer, layer, url, position, view3d, scales, units=None, voxels_per_pixel=0.3):
    """The pixels that the viewer shows once every visible chunk has arrived."""
    import neuroglancer
    kinds = {"segmentation": neuroglancer.SegmentationLayer, "image": neuroglancer.ImageLayer}
    with viewer.txn() as state:
        state.layers.clear()
        state.dimensions = neuroglancer.CoordinateSpace(
            names=["x", "y", "z"], units=units or ("nm" if scales[0] > 1 else ""), scales=scales)
        state.layers["layer"] = kinds[layer](source=url)
        if view3d:
            state.layers["layer"].segments = [1, 2, 7]
            state.projection_scale = 100
        state.layout = "3d" if view3d else "xy"
        state.show_axis_lines = False
        state.show_scale_bar = False
        state.position = position
        state.cross_section_scale = voxels_per_pixel
    taken = []
    thread = threading.Thread(target=lambda: taken.append(viewer.screenshot(size=SIZE)), daemon=True)
    thread.start()
    thread.join(SECONDS)
    assert taken, f"no picture of {url} within {SECONDS} s"
    return taken[0].screenshot.image_pixels


PICTURES = {  # layer, source below the root, position, in three dimensions, nm of a voxel
    "segmentation": ("segmentation", "precomputed://{}/segmentation", [50, 45, 30], False, [4, 4, 40]),
    "image": ("image", "precomputed://{}/image", [50, 45, 30], False, [4, 4, 40]),
    "meshes": ("segmentation", "precomputed://{}/meshes", [15, 10, 1], True, [4, 4, 40]),
    "zarr": ("image", "{}/array|zarr3:", [50, 45, 30], False, [1, 1, 1]),
}


@pytest.mark.parametrize("name", in_turn(PICTURES))
def test_the_view_is_drawn_as_the_source(served, viewer, name):
    _, url, log = served
    layer, source, *where = PICTURES[name]
    pictures = {}
    for root in ("source", "view"):
        before = log.stat().st_size
        pictures[root] = picture(viewer, layer, source.format(f"{url}/{root}"), *where)
        requests = log.read_text()[before:]
        assert f" /{root}/" in requests, f"{root} was not asked:\n{requests}"
        failed = re.findall(r'"GET (\S+) [^"]*" (4[^0]\d|40[^4]|5\d\d)', requests)
        assert not failed, failed
    assert "/view/" not in "".join(re.findall(r"GET (\S+\.shard)", log.read_text()))
    colours = len(np.unique(pictures["source"].reshape(-1, 4), axis=0))
    assert colours > 20, f"the picture of the source shows just {colours} colours"
    np.testing.assert_array_equal(pictures["view"], pictures["source"])


# The source in Neuroglancer's words, the directory of a level, and where it takes the first voxel to
# be. To it, translations of OME-Zarr are those of centres; it reads no offset of N5. The source is
# precomputed itself.
OFFSET = np.array(Pyramid.offset[::-1])
VIEWS = {"views/precomputed": ("precomputed://{}", "scale%20{}", OFFSET),
         "views/zarr3": ("{}|zarr3:", "{}", OFFSET - 0.5), "views/zarr2": ("{}|zarr2:", "{}", OFFSET - 0.5),
         "views/n5": ("{}|n5:", "s{}", np.zeros(3)),
         "of%200.6": ("{}|zarr3:", "{}", OFFSET - 0.5)}


@pytest.mark.parametrize("view", VIEWS)
def test_each_view_of_a_pyramid_is_drawn_as_the_source(served, viewer, view):
    """Voxels of another size, or half a voxel beside their place, would be another picture."""
    _, url, log = served
    source, level, first = VIEWS[view]
    resolution = [float(each) for each in Pyramid.resolution[::-1]]

    def draw(source, first, voxels_per_pixel):
        return picture(viewer, "image", source, [float(each) for each in first + [24, 16, 3.5]], False,
                       resolution, "nm", voxels_per_pixel)

    before = log.stat().st_size
    for voxels_per_pixel in (0.12, 1.5):  # the first level, and the second one
        wanted = draw(f"precomputed://{url}/source/pyramid", OFFSET, voxels_per_pixel)
        assert len(np.unique(wanted.reshape(-1, 4), axis=0)) > 20
        drawn = draw(source.format(f"{url}/{view}"), first, voxels_per_pixel)
        np.testing.assert_array_equal(drawn, wanted)
    requests = log.read_text()[before:]
    for number in range(2):
        directory = f"/{view}/{level.format(number)}/"
        assert re.search(rf"GET {directory}\S*\d \S+ 200", requests), directory


def test_what_was_written_into_another_view_is_drawn_there_and_from_the_source(served, viewer):
    """A zarr array as a precomputed volume."""
    import tensorstore as ts

    root, url, _ = served
    store = ts.open({"driver": "neuroglancer_precomputed",
                     "kvstore": f"file://{root / 'served' / 'volume'}/"}).result()
    stripes = np.multiply.outer(np.arange(60), np.arange(50)) % 251 * 200
    store[20:80, 20:70, 30, 0].write(stripes.astype("uint16")).result()
    os.setxattr(root / "served" / "volume" / ".unshard", "user.unshard.flush", b"")
    # Under names that the page has not seen: it keeps the chunks that it has.
    (root / "served" / "written").symlink_to("volume")
    (root / "served" / "stored").symlink_to("source/array")
    where = [[50, 45, 30], False]
    volume = picture(viewer, "image", f"precomputed://{url}/written", *where, [1, 1, 1], "nm")
    array = picture(viewer, "image", f"{url}/stored|zarr3:", *where, [1, 1, 1])
    assert len(np.unique(volume.reshape(-1, 4), axis=0)) > 20
    np.testing.assert_array_equal(volume, array)


def test_the_chunks_were_asked_for_by_their_names(served, viewer):
    """The pictures are of chunk files, not of shards that slipped through."""
    _, _, log = served
    text = log.read_text()
    assert re.search(r"GET /source/segmentation/s0/\d\.shard HTTP/1.1\" 206", text)
    assert re.search(r"GET /view/segmentation/s0/\d+-\d+_\d+-\d+_\d+-\d+ HTTP/1.1\" 200", text)
    assert re.search(r"GET /view/meshes/mesh/7.index HTTP/1.1\" 200", text)
    assert json.loads((served[0] / "served" / "view" / "segmentation" / "info").read_text())
