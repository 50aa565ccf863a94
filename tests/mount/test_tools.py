"""Ordinary programs on a mount: cp, tar, rsync, rclone, find, du, ls, dd, nginx, python -m http.server."""

import gzip
import os
import re
import shutil
import socket
import subprocess
import sys
import tarfile
import time
import urllib.error
import urllib.request

import pytest

from free_port import free_port
from mount_data import drop_caches


def run(*command, code=0, **more):
    """Runs a program; its text output. Fails the test when the exit code is another one."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          timeout=60, **more)
    assert done.returncode == code, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def files_below(root):
    return {os.path.relpath(os.path.join(directory, name), root)
            for directory, _, names in os.walk(root) for name in names}


def assert_copied(copy, case):
    """`copy` holds all chunks with their bytes, and everything else that is listed."""
    assert files_below(copy) == files_below(case.root)
    for name, data in case.chunks.items():
        assert (copy / name).read_bytes() == data, name
    for name in files_below(case.root) - case.chunks.keys():
        assert (copy / name).read_bytes() == (case.root / name).read_bytes(), name


@pytest.fixture(params=["volume", "tree"])
def case(request, volume, tree):
    return {"volume": volume, "tree": tree}[request.param]


# -------------------------------------------------------------------------------------------- copies


def test_cp_r_copies_the_whole_dataset(case, work):
    run("cp", "-r", case.root, work / "copy")
    assert_copied(work / "copy", case)


def test_cp_a_copies_with_times_and_without_complaint(case, work):
    done = subprocess.run(["cp", "-a", case.root, work / "copy"], capture_output=True, text=True,
                          timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    run("chmod", "-R", "u+w", work / "copy")
    assert_copied(work / "copy", case)
    for name in case.chunks:
        one, two = os.stat(case.root / name), os.stat(work / "copy" / name)
        assert (one.st_mtime_ns, one.st_size) == (two.st_mtime_ns, two.st_size)


@pytest.mark.parametrize("options", [["--reflink=always"], ["--sparse=always"], ["--sparse=auto"],
                                     ["--reflink=auto"], ["--sparse=never"]])
def test_cp_with_reflink_and_sparse_options(volume, work, options):
    name = "fine/0-32_32-64_8-40"
    clone_only = options == ["--reflink=always"]
    run("cp", *options, volume.root / name, work / "copy", code=1 if clone_only else 0)
    if not clone_only:
        assert (work / "copy").read_bytes() == volume.chunks[name]


def test_tar_packs_everything_and_what_is_unpacked_is_equal(case, work):
    run("tar", "-C", case.root, "-cf", work / "all.tar", ".")
    (work / "out").mkdir()
    run("tar", "-C", work / "out", "-xf", work / "all.tar")
    run("chmod", "-R", "u+w", work / "out")
    assert_copied(work / "out", case)


def test_tar_with_sparse_detection_loses_no_byte(case, work):
    run("tar", "-C", case.root, "-S", "-cf", work / "all.tar", ".")
    with tarfile.open(work / "all.tar") as archive:
        for name, data in case.chunks.items():
            assert archive.extractfile(f"./{name}").read() == data


def test_tar_takes_extended_attributes_along_without_complaint(volume, work):
    done = subprocess.run(["tar", "--xattrs", "--xattrs-include=user.*", "-C", volume.root, "-cf",
                           work / "all.tar", "."], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_rsync_copies_and_a_second_run_transfers_nothing(case, work):
    first = run("rsync", "-a", "--stats", "--chmod=u+w", f"{case.root}/", work / "copy")
    assert_copied(work / "copy", case)
    assert f"Number of regular files transferred: {len(files_below(case.root))}" in first
    drop_caches()
    second = run("rsync", "-a", "--stats", "--chmod=u+w", "--itemize-changes", f"{case.root}/",
                 work / "copy")
    assert "Number of regular files transferred: 0" in second
    assert not re.findall(r"^>f.*", second, re.MULTILINE)


def test_rsync_by_checksum_agrees(case, work):
    run("rsync", "-a", "--chmod=u+w", f"{case.root}/", work / "copy")
    assert run("rsync", "-a", "-c", "-n", "--itemize-changes", "--chmod=u+w", f"{case.root}/",
               work / "copy") == ""


@pytest.mark.parametrize("options", [[], ["--metadata"]])
def test_rclone_copies_and_a_second_copy_transfers_nothing(case, work, options):
    def rclone(command):
        done = subprocess.run(["rclone", "--config", "", command, "-v", *options, str(case.root),
                               str(work / "copy")], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return re.findall(r": Copied \(|modification time", done.stderr)

    assert len(rclone("copy")) == len(files_below(case.root))
    assert_copied(work / "copy", case)
    assert rclone("copy") == []
    for name in case.chunks:
        one, two = os.stat(case.root / name), os.stat(work / "copy" / name)
        assert one.st_mtime_ns == two.st_mtime_ns
    rclone("check")


def test_diff_r_finds_no_difference_between_two_mounts_of_one_source(case, mount):
    other = mount(case.source.path)
    assert run("diff", "-r", case.root, other.path) == ""


def test_dd_copies_blocks_of_any_size_also_with_direct_io(volume, work):
    name = "coarse/0-32_32-64_8-40"
    for options in (["bs=1000"], ["bs=1M"], ["bs=4096", "iflag=direct"],
                    ["bs=4096", "skip=3", "iflag=nofollow,noatime,nonblock"]):
        run("dd", f"if={volume.root / name}", f"of={work / 'copy'}", "status=none", *options)
        skipped = 3 * 4096 if "skip=3" in options else 0
        assert (work / "copy").read_bytes() == volume.chunks[name][skipped:]


def test_bash_reads_a_chunk_by_redirection_and_cat_by_name(volume):
    name = "fine/0-32_32-64_8-40"
    for command in (["bash", "-c", f"cat < '{volume.root / name}'"], ["cat", volume.root / name]):
        assert subprocess.run(command, capture_output=True, timeout=30).stdout == volume.chunks[name]


def test_mv_from_the_mount_copies_and_then_cannot_remove(volume, work):
    name = "coarse/0-32_32-64_8-40"
    run("mv", volume.root / name, work / "moved", code=1)
    assert (volume.root / name).read_bytes() == volume.chunks[name]


def test_rm_r_is_refused_and_takes_nothing_away(case):
    run("rm", "-rf", case.root / next(iter(case.chunks)).split("/", maxsplit=1)[0], code=1)
    assert all((case.root / name).exists() for name in case.chunks)


# ---------------------------------------------------------------------------------------- find, du, ls


def test_find_finds_every_file_once(case):
    found = run("find", case.root, "-type", "f").splitlines()
    assert sorted(found) == sorted(str(case.root / name) for name in files_below(case.root))
    levels = run("find", case.root, "-mindepth", "1", "-type", "d").splitlines()
    assert sorted(levels) == sorted(ancestors(case))


def ancestors(case):
    found = set()
    for name in files_below(case.root):
        while name := os.path.dirname(name):
            found.add(str(case.root / name))
    return found


def test_find_by_size_and_time_agrees_with_the_bytes(case):
    size = max(map(len, case.chunks.values()))
    wanted = {str(case.root / n) for n, data in case.chunks.items() if len(data) == size}
    found = run("find", case.root, "-type", "f", "-size", f"{size}c").splitlines()
    assert set(found) == wanted
    assert run("find", case.root, "-newermt", "2100-01-01") == ""


def test_find_by_type_asks_for_no_file(case):
    """The type stands in the listing: strace sees no stat of a chunk."""
    trace = subprocess.run(
        ["strace", "-f", "-e", "trace=newfstatat,statx,lstat,stat", "find", str(case.root), "-type",
         "f"], capture_output=True, text=True, timeout=60)
    assert trace.returncode == 0
    stated = [name for name in re.findall(r'stat\w*\([^"]*"([^"]*)"', trace.stderr) if name]
    assert stated and not {name for name in stated if "_" in os.path.basename(name)}
    assert len(stated) < len(case.chunks)


def test_du_counts_the_blocks_and_the_bytes_of_the_files(case):
    blocks = dict(reversed(line.split("\t")) for line in
                  run("du", "-a", "-B512", case.root).splitlines())
    for name, data in case.chunks.items():
        assert int(blocks[str(case.root / name)]) == -(-len(data) // 512)
    total = sum(os.stat(case.root / name).st_size for name in files_below(case.root))
    directories = len(ancestors(case)) + 1
    apparent = int(run("du", "-sb", case.root).split()[0])
    assert total <= apparent <= total + directories * 4096


def test_ls_l_tells_sizes_and_modes_and_ls_f_tells_the_same_names(case):
    directory = (case.root / next(iter(case.chunks))).parent
    lines = run("ls", "-l", directory).splitlines()[1:]
    told = {line.split()[-1]: line.split() for line in lines}
    for name, data in case.chunks.items():
        if (case.root / name).parent == directory:
            fields = told[os.path.basename(name)]
            assert fields[0].startswith("-r--r--r--") and int(fields[4]) == len(data)
    assert sorted(run("ls", "-f", directory).split()) == sorted([".", "..", *told])


def test_df_and_stat_f_answer(case):
    assert "fuse" in run("stat", "-f", "-c", "%T", case.root)
    assert str(case.root) in run("df", case.root)


def test_getfattr_dumps_the_attributes_of_a_chunk(volume):
    text = run("getfattr", "-d", "--absolute-names", volume.root / "coarse/0-32_32-64_8-40")
    assert re.search(r'user\.unshard\.shard="coarse/[0-9a-f]+\.shard"', text)
    assert 'user.unshard.length="32768"' in text


def test_file_and_md5sum_and_xargs_read_all_chunks(case, work):
    listing = work / "names"
    listing.write_text("\0".join(case.chunks))
    sums = run("xargs", "-0", "-P", "4", "-n", "8", "-a", listing, "md5sum", cwd=case.root)
    assert len(sums.splitlines()) == len(case.chunks)


# -------------------------------------------------------------------------------------- web servers


def wait_for_port(port, process, log):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise AssertionError(f"the server does not answer\n{log.read_text()}")


def fetch(url, **headers):
    """(status, headers, body as sent)."""
    request = urllib.request.Request(url, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as refusal:
        return refusal.code, refusal.headers, refusal.read()


NGINX = """
daemon off; master_process off; worker_processes 1; pid {work}/nginx.pid; error_log {work}/nginx.log;
events {{ worker_connections 64; }}
http {{
  access_log off; sendfile {sendfile}; {more}
  client_body_temp_path {work}/t1; proxy_temp_path {work}/t2; fastcgi_temp_path {work}/t3;
  uwsgi_temp_path {work}/t4; scgi_temp_path {work}/t5;
  server {{ listen 127.0.0.1:{port}; root {root}; autoindex on; gzip_static {gzip_static}; }}
}}
"""


@pytest.fixture
def nginx(work):
    """nginx(root, …) -> base URL of an nginx that serves this directory."""
    servers = []
    program = shutil.which("nginx") or "/usr/sbin/nginx"

    def start(root, sendfile="on", gzip_static="on", more=""):
        port = free_port()
        (work / "nginx.conf").write_text(NGINX.format(work=work, port=port, root=root, more=more,
                                                      sendfile=sendfile, gzip_static=gzip_static))
        log = work / "nginx.log"
        with open(work / "nginx.out", "wb") as out:
            servers.append(subprocess.Popen(
                [program, "-p", str(work), "-e", str(log), "-c", str(work / "nginx.conf")],
                stdout=out, stderr=out))
        wait_for_port(port, servers[-1], log)
        return f"http://127.0.0.1:{port}"

    yield start
    for server in servers:
        server.terminate()
        server.wait(15)


@pytest.mark.parametrize("sendfile", ["on", "off"])
def test_nginx_serves_every_chunk_and_ranges_of_it(volume, nginx, sendfile):
    base = nginx(volume.root, sendfile=sendfile)
    for name, data in volume.chunks.items():
        status, headers, body = fetch(f"{base}/{name}")
        assert (status, body) == (200, data), name
        assert headers["Content-Encoding"] is None and headers["Content-Length"] == str(len(data))
    name = "coarse/0-32_32-64_8-40"
    data = volume.chunks[name]
    for first, last in ((0, 0), (1, 4096), (5000, 20000), (32767, 32767)):
        status, headers, body = fetch(f"{base}/{name}", Range=f"bytes={first}-{last}")
        assert (status, body) == (206, data[first:last + 1])
        assert headers["Content-Range"] == f"bytes {first}-{last}/{len(data)}"
    assert fetch(f"{base}/{name}", Range="bytes=-100")[2] == data[-100:]
    assert fetch(f"{base}/{name}", Range="bytes=40000-")[0] == 416
    assert fetch(f"{base}/fine/{volume.source.missing('fine')[0]}")[0] == 404


def test_nginx_with_gzip_static_sends_the_stored_bytes_of_gzip_chunks(volume, nginx):
    base = nginx(volume.root)
    accept = {"Accept-Encoding": "gzip"}
    for name, data in volume.chunks.items():
        status, headers, body = fetch(f"{base}/{name}", **accept)
        gzipped = name.startswith("fine/")
        assert (status, headers["Content-Encoding"]) == (200, "gzip" if gzipped else None)
        assert (gzip.decompress(body) if gzipped else body) == data
        if gzipped:
            assert body == (volume.root / f"{name}.gz").read_bytes()


def test_nginx_with_open_file_cache_and_aio_serves_the_same(volume, nginx):
    base = nginx(volume.root, more="open_file_cache max=100 inactive=20s; aio threads; directio 4k;")
    for _ in range(2):
        for name, data in volume.chunks.items():
            assert fetch(f"{base}/{name}")[2] == data


def test_nginx_answers_if_modified_since_from_the_time_of_the_shard(volume, nginx):
    url = f"{nginx(volume.root)}/coarse/0-32_32-64_8-40"
    headers = fetch(url)[1]
    assert fetch(url, **{"If-Modified-Since": headers["Last-Modified"]})[0] == 304
    assert fetch(url, **{"If-None-Match": headers["ETag"]})[0] == 304


def test_nginx_autoindex_lists_the_chunks_and_their_sizes(volume, nginx):
    page = fetch(f"{nginx(volume.root)}/coarse/")[2].decode()
    listed = dict(re.findall(r'<a href="([^"]+)">.* (\d+)\r?\n', page))
    wanted = {name: str(len(data)) for name, data in volume.source.chunks("coarse").items()}
    assert {name: size for name, size in listed.items() if name != "../"} == wanted


def test_python_http_server_serves_chunks_listings_and_metadata(tree, work):
    port = free_port()
    log = work / "http.log"
    with open(log, "wb") as out:
        server = subprocess.Popen(
            [sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1", "--directory",
             str(tree.root)], stdout=out, stderr=out)
    try:
        wait_for_port(port, server, log)
        base = f"http://127.0.0.1:{port}"
        for name, data in tree.chunks.items():
            assert fetch(f"{base}/{name}")[2] == data
        assert b"zarr.json" in fetch(f"{base}/image/")[2]
        assert fetch(f"{base}/image/c/0/0/0")[0] == 404
        assert fetch(f"{base}/image/zarr.json")[2] == (tree.root / "image/zarr.json").read_bytes()
    finally:
        server.terminate()
        server.wait(15)
