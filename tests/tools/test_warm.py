"""Programs started from the process with the libraries behave as if they were started alone."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a server is used on Linux only")


@pytest.fixture
def served(repository, tmp_path):
    """What a shell script prints that runs beside a server; `$RUN` starts a program there."""

    def output(script: str, status: int = 0) -> str:
        warm = repository / "tools/warm.py"
        done = subprocess.run(
            [sys.executable, warm, "--serve", "bash", "-c", script],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={"RUN": f"{sys.executable} -IS {warm}", "PATH": "/usr/bin:/bin", "WORD": "outer"},
            timeout=120,
        )
        assert done.returncode == status, done.stderr
        return done.stdout

    return output


def test_a_program_has_its_arguments_folder_environment_and_the_libraries(served, tmp_path):
    (tmp_path / "here.py").write_text(
        "import os, sys\nprint('torch' in sys.modules, sys.argv, os.getcwd(), os.environ['WORD'])"
    )
    expected = f"True ['here.py', 'a', 'b c'] {tmp_path} inner\n"
    assert served("WORD=inner $RUN here.py a 'b c'") == expected


def test_a_module_is_found_in_the_folder_and_sees_its_name(served, tmp_path):
    (tmp_path / "part.py").write_text("import sys\nprint(__name__, sys.argv[1:])")
    assert served("$RUN -m part x") == "__main__ ['x']\n"


def test_the_status_of_program_and_command_are_passed_on(served, tmp_path):
    (tmp_path / "three.py").write_text("raise SystemExit(3)")
    (tmp_path / "gone.py").write_text("import os\nos.kill(os.getpid(), 9)")
    assert served("$RUN three.py; echo $?; $RUN gone.py; echo $?; exit 7", 7) == "3\n137\n"


def test_workers_of_a_program_do_not_keep_it(served, tmp_path):
    (tmp_path / "workers.py").write_text(
        "import joblib\nprint(joblib.Parallel(2)(joblib.delayed(abs)(-i) for i in range(3)))"
    )
    assert served("timeout 60 $RUN workers.py; echo $?") == "[0, 1, 2]\n0\n"


def test_a_program_ends_with_the_process_that_asked_for_it(served, tmp_path):
    (tmp_path / "slow.py").write_text(
        "import os, time\nopen('pid', 'w').write(str(os.getpid()))\ntime.sleep(100)"
    )
    script = """
    $RUN slow.py & asker=$!
    until [ -s pid ]; do sleep .1; done
    kill -9 $asker
    while kill -0 $(cat pid) 2>/dev/null; do sleep .1; done
    echo ended
    """
    assert served(script) == "ended\n"


def test_an_interrupt_reaches_the_program_once(served, tmp_path):
    (tmp_path / "patient.py").write_text(
        "import os, time\n"
        "try:\n"
        "    open('pid', 'w').write(str(os.getpid()))\n"
        "    time.sleep(100)\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted')\n"
    )
    # A shell lets a process in its background ignore interrupts; env undoes that.
    script = """
    env --default-signal=INT $RUN patient.py & asker=$!
    until [ -s pid ]; do sleep .1; done
    sleep .3; kill -INT $asker; wait $asker; echo $?
    """
    assert served(script) == "interrupted\n0\n"


def test_without_a_server_the_program_starts_as_usual(repository, tmp_path):
    (tmp_path / "alone.py").write_text("import sys\nprint('torch' in sys.modules, sys.argv[1:])")
    done = subprocess.run(
        [sys.executable, "-IS", repository / "tools/warm.py", "alone.py", "x"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"WARM_START": str(tmp_path / "nobody")},
        check=True,
    )
    assert done.stdout == "False ['x']\n"
