#!/usr/bin/env python3
"""Mutation testing: breaks one library in small ways, one at a time, and reports which of them its tests do not notice.

    python3 eng/mutate.py Tunnel2.Protocol                        a sample of 40 mutants
    python3 eng/mutate.py Tunnel2.ProxyEntry.Core --only Forwarding --only Opening --sample 60 --seed 7
    python3 eng/mutate.py Tunnel2.ProxyEntry.Core --at Opening/NameResolver.cs:40       all mutants of a line, after a test was added

It works on a copy of the tracked files in artifacts/mutation, so the working tree stays as it is. A mutant is first run against the test
classes whose folder mirrors that of the broken file. If they do not notice it, all tests of the project run. The report says what survived.
Ctrl+C, or an end asked for by SIGTERM, gives the report of the mutants so far.
"""
import argparse
import fnmatch
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TREE = os.path.join(ROOT, "artifacts", "mutation", "tree")
TESTS = {
    "Tunnel2.Client.Core": "Tunnel2.Client.Tests",
    "Tunnel2.ProxyEntry.Configuration": "Tunnel2.ProxyEntry.Tests",
    "Tunnel2.ProxyEntry.Core": "Tunnel2.ProxyEntry.Tests",
    "Tunnel2.ProxyEntry.Hosting": "Tunnel2.ProxyEntry.Tests",
    "Tunnel2.ProxyEntry.Http1": "Tunnel2.ProxyEntry.Tests",
    "Tunnel2.ProxyEntry.Cluster": "Tunnel2.ProxyEntry.Cluster.Tests",
    "Tunnel2.ProxyEntry.Observability": "Tunnel2.ProxyEntry.Tests",
}

# Assertions stay in, and the code is optimized: state machines that are classes fail the tests that count allocated bytes.
BUILD = ["-c", "Debug", "-p:Optimize=true", "-p:RunAnalyzers=false"]

# What is replaced by what, in code that is neither comment nor text. An operator has spaces around it, the brackets of a type have none.
OPERATORS = [
    ("boundary", r" < ", " <= "), ("boundary", r" <= ", " < "), ("boundary", r" > ", " >= "), ("boundary", r" >= ", " > "),
    ("negation", r" == ", " != "), ("negation", r" != ", " == "),
    ("negation", r" is not null", " is null"), ("negation", r" is null", " is not null"),
    ("logic", r" && ", " || "), ("logic", r" \|\| ", " && "),
    ("arithmetic", r" \+ ", " - "), ("arithmetic", r" - ", " + "), ("arithmetic", r" \* ", " / "), ("arithmetic", r" / ", " * "),
    ("arithmetic", r" \+= ", " -= "), ("arithmetic", r" -= ", " += "), ("arithmetic", r"\+\+", "--"), ("arithmetic", r"--", "++"),
    ("bits", r" & ", " | "), ("bits", r" \| ", " & "), ("bits", r" << ", " >> "), ("bits", r" >> ", " << "),
    ("literal", r"\btrue\b", "false"), ("literal", r"(?<!ConfigureAwait\()\bfalse\b", "true"),
]
CONDITION = re.compile(r"^(\s*(?:else )?(?:if|while) \()(.*)(\))$")
STATEMENT = re.compile(r"^(\s*)(?!return\b|throw\b|break\b|continue\b|goto\b|using\b|var\b|yield\b|fixed\b|case\b|default\b|const\b)"
                       r"(?:await |_ = )?[\w.!?\[\]\"$()<>, ]*?[\w\])](?:\(.*\)|\+\+|--| [-+*/&|^?]{0,2}= .*);$")
DECLARATION = re.compile(r"^\s*(?:(?:public|private|internal|protected|static|readonly|const|ref|out|scoped|abstract|extern|partial)\b|"
                         r"[\w.<>\[\]?,() ]+ \w+ = |\[)")
COMMENT_OR_TEXT = re.compile(r"//.*$|\"(?:\\.|[^\"\\])*\"(?:u8)?|'(?:\\.|[^'\\])+'")


def mutants_of(path, text):
    """All mutants of a file: (line number, kind, the line that replaces it). An assertion is a test of its own, so it stays."""
    for number, line in enumerate(text.split("\n")):
        stripped = line.strip()
        if not stripped or stripped.startswith(("//", "Debug.Assert(", "using ", "namespace ", "[", "#", "///", "*", "/*")):
            continue
        hidden = [match.span() for match in COMMENT_OR_TEXT.finditer(line)]
        for kind, pattern, new in OPERATORS:
            for match in re.finditer(pattern, line):
                if not any(begin < match.end() and match.start() < end for begin, end in hidden):
                    yield number, kind, line[:match.start()] + new + line[match.end():]
        condition = CONDITION.match(line)
        if condition and not re.search(r"\bis (?:\{|var |[A-Z(])|\bout \w", line):
            yield number, "negation", f"{condition[1]}!({condition[2]}){condition[3]}"
        if STATEMENT.match(line) and not DECLARATION.match(line):
            yield number, "removed statement", re.match(r"\s*", line)[0] + ";"


class Interrupted(Exception):
    """A pause began while a command ran. What ran beside something else says nothing about a mutant, so it runs again after the pause."""


class Pause:
    """No command runs while one of these files exists. One that runs when such a file appears is ended."""

    files = []

    @classmethod
    def is_wanted(cls):
        return any(os.path.exists(file) for file in cls.files)

    @classmethod
    def wait(cls):
        while cls.is_wanted():
            time.sleep(2)


def run(command, limit, cwd=None):
    """Runs a command with a time limit; its whole group ends with it.

    Returns its exit code and output; None for the code when the time was over. Raises Interrupted when a pause began in that time."""
    Pause.wait()
    process = subprocess.Popen(
        ["nice", "-n", "10", *command], cwd=cwd or TREE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        start_new_session=True)
    end = time.monotonic() + limit
    try:
        while True:
            try:
                output, _ = process.communicate(timeout=1)
                if Pause.is_wanted():
                    raise Interrupted
                return process.returncode, output
            except subprocess.TimeoutExpired:
                if Pause.is_wanted():
                    raise Interrupted from None
                if time.monotonic() > end:
                    return None, ""
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def undisturbed(action):
    """Does something until no pause has interrupted it."""
    while True:
        try:
            return action()
        except Interrupted:
            Pause.wait()


class Project:
    """One library and the tests that judge it."""

    def __init__(self, name, limit):
        self.name = name
        self.tests = TESTS.get(name, name + ".Tests")
        self.limit = limit
        self.failed = ""
        self.source = os.path.join(TREE, "src", name)
        self.binaries = os.path.join(TREE, "tests", self.tests, "bin", "Debug", "net10.0")
        if not os.path.isdir(os.path.join(ROOT, "src", name)) or not os.path.isdir(os.path.join(ROOT, "tests", self.tests)):
            sys.exit(f"There is no src/{name} with tests in tests/{self.tests}.")

    def prepare(self):
        """Copies the tracked files and builds them; what an earlier run has built is built again only where it changed."""
        files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout.decode().split("\0")
        for folder, folders, names in os.walk(TREE):
            folders[:] = [name for name in folders if name not in ("bin", "obj")]
            for name in names:
                if os.path.relpath(os.path.join(folder, name), TREE) not in files:
                    os.remove(os.path.join(folder, name))
        for file in filter(None, files):
            if os.path.isfile(os.path.join(ROOT, file)):
                os.makedirs(os.path.dirname(os.path.join(TREE, file)), exist_ok=True)
                shutil.copy2(os.path.join(ROOT, file), os.path.join(TREE, file))
        code, output = run(["dotnet", "build", f"tests/{self.tests}", *BUILD], 1800)
        if code != 0:
            sys.exit("The project does not build as it is:\n" + output[-2000:])
        self.learn_compiler()

    def learn_compiler(self):
        """Asks the build for the compiler's arguments, so that a mutant costs one call of the compiler and no build."""
        os.utime(os.path.join(self.source, self.name + ".csproj"))
        code, output = run(
            ["dotnet", "build", f"src/{self.name}", *BUILD, "--no-restore", "--no-dependencies", "-t:PrepareResources;Compile",
             "-p:SkipCompilerExecution=true", "-p:ProvideCommandLineArgs=true", "-getItem:CscCommandLineArgs"], 300)
        arguments = [item["Identity"] for item in json.loads(output)["Items"]["CscCommandLineArgs"]] if code == 0 else []
        if not arguments:
            sys.exit("The compiler's arguments are not known:\n" + output[-2000:])
        dropped = ("/doc:", "/refout:", "/warnaserror", "/out:")
        kept = [argument for argument in arguments if not argument.startswith(dropped) and argument != "/noconfig"]
        assembly = next(os.path.basename(argument) for argument in arguments if argument.startswith("/out:"))
        self.response = os.path.join(TREE, "mutant.rsp")
        with open(self.response, "w", encoding="utf-8") as response:
            response.write("\n".join(argument if argument.startswith("/") else f'"{argument}"' for argument in kept))
            response.write(f'\n/out:"{os.path.join(self.binaries, assembly)}"\n')
        _, listed = run(["dotnet", "--list-sdks"], 60)
        _, version = run(["dotnet", "--version"], 60)
        folder = next(line.split("[")[1].rstrip("]\n") for line in listed.splitlines() if line.startswith(version.strip() + " "))
        self.compiler = os.path.join(folder, version.strip(), "Roslyn", "bincore", "csc.dll")

    def build(self):
        """Compiles the library alone, to where its tests load it from."""
        code, _ = run(["dotnet", self.compiler, "/noconfig", "/shared", "/keepalive:60", "@" + self.response], 300, cwd=self.source)
        return code == 0

    def passes(self, namespaces):
        """Runs the tests of some namespaces, or all. None: they took too long. `failed` says which test did not pass."""
        command = ["dotnet", os.path.join(self.binaries, self.tests + ".dll"), "-noColor", "-stopOnFail"]
        for namespace in namespaces:
            command += ["-namespace", namespace]
        code, output = run(command, self.limit)
        ran = re.search(r"Total: (\d+)", output)
        failed = re.search(r"^\s*(\S+).*\[FAIL\]", output, re.MULTILINE)
        self.failed = failed[1].removeprefix(self.tests + ".") if failed else output[-500:].strip().split("\n")[-1]

        # A run that a failure has stopped may count no test at all and end well: what it printed before decides.
        return None if code is None else failed is None and (code == 0 or (ran is not None and ran[1] == "0"))

    def mirror(self, file):
        """The namespaces of the tests in the folder that mirrors a file's."""
        folder = os.path.dirname(file)
        while folder and not os.path.isdir(os.path.join(TREE, "tests", self.tests, folder)):
            folder = os.path.dirname(folder)
        return [f"{self.tests}.{folder.replace(os.sep, '.')}", f"{self.tests}.{folder.replace(os.sep, '.')}.*"] if folder else []


def judge(project, file, number, new_line, mirror_only):
    """Builds and runs one mutant: 'killed (a test)', 'killed by all (a test)', 'timeout', 'survived' or 'no code'."""
    path = os.path.join(project.source, file)
    before = open(path, encoding="utf-8").read()
    lines = before.split("\n")
    lines[number] = new_line
    try:
        with open(path, "w", encoding="utf-8") as target:
            target.write("\n".join(lines))
        if not project.build():
            return "no code"
        mirror = project.mirror(file)
        for namespaces, verdict in ([(mirror, "killed")] if mirror else []) + ([] if mirror and mirror_only else [([], "killed by all")]):
            passed = project.passes(namespaces)
            if passed is None:
                return "timeout"
            if not passed:
                return f"{verdict} ({project.failed})"
        return "survived"
    finally:
        with open(path, "w", encoding="utf-8") as target:
            target.write(before)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("project", help="the library, for example Tunnel2.Protocol")
    parser.add_argument(
        "--only", action="append", default=[], metavar="FOLDER",
        help="only files of this folder, or that match this pattern; may be repeated")
    parser.add_argument("--sample", type=int, default=40, help="how many mutants that compile (default 40)")
    parser.add_argument("--seed", type=int, default=None, help="of an earlier report, to draw the same sample")
    parser.add_argument(
        "--at", action="append", default=[], metavar="FILE:LINE", help="only this line, as a report names it; may be repeated")
    parser.add_argument(
        "--mirror", action="store_true", help="only the tests that mirror the file: several times faster, and the score is a lower bound")
    parser.add_argument(
        "--pause-while", action="append", default=[], metavar="FILE",
        help="wait while this file exists; what it interrupts runs again; may be repeated")
    parser.add_argument("--limit", type=int, default=120, help="seconds for one run of tests (default 120)")
    arguments = parser.parse_args()
    seed = arguments.seed if arguments.seed is not None else int(time.time()) % 100_000
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    project = Project(arguments.project, arguments.limit)
    Pause.files = arguments.pause_while
    undisturbed(project.prepare)
    if not undisturbed(lambda: project.passes([])):
        sys.exit(f"The tests fail, or take too long, without any mutant: {project.failed}")

    found = []
    for folder, folders, files in os.walk(project.source):
        folders[:] = sorted(name for name in folders if name not in ("bin", "obj"))
        for name in sorted(file for file in files if file.endswith(".cs")):
            file = os.path.relpath(os.path.join(folder, name), project.source)
            if not arguments.only or any(file.startswith(only + os.sep) or fnmatch.fnmatch(file, only) for only in arguments.only):
                text = open(os.path.join(project.source, file), encoding="utf-8").read()
                found += [(file, number, kind, text.split("\n")[number].strip(), new) for number, kind, new in mutants_of(file, text)
                          if not arguments.at or f"{file}:{number + 1}" in arguments.at]
    random.Random(seed).shuffle(found)
    print(f"{arguments.project}: {len(found)} mutants are possible, {arguments.sample} are drawn with --seed {seed}", flush=True)
    counts = {}
    survivors = []
    judged = 0
    began = time.monotonic()
    for file, number, kind, old, new in found:
        if judged == arguments.sample:
            break
        try:
            verdict = undisturbed(lambda: judge(project, file, number, new, arguments.mirror))
        except KeyboardInterrupt:
            break
        counted = verdict.split(" (")[0]
        counts[counted] = counts.get(counted, 0) + 1
        judged += verdict != "no code"
        print(f"{verdict:14} {kind:18} {file}:{number + 1}: {old}  =>  {new.strip()}", flush=True)
        if verdict == "survived":
            survivors.append(f"{file}:{number + 1}: {old}  =>  {new.strip()}")
    died = judged - len(survivors)
    score = 100 * died / max(1, judged)
    seconds = time.monotonic() - began
    print(f"\n{arguments.project}: {died} of {judged} mutants died, {score:.0f} % ({counts}; seed {seed}; {seconds:.0f} s)")
    if survivors:
        print("\n".join(["Read what survived: a mutant that changes no behaviour is no fault of the tests.", *survivors]))


if __name__ == "__main__":
    main()
