"""Writes THIRD-PARTY.txt: the crates that the program contains, with the notices of their licences.

    python3 contrib/notices.py > THIRD-PARTY.txt

Run it when Cargo.lock has changed; tests/library/notices.rs says when that was forgotten.
"""

import json
import pathlib
import subprocess


def contained(metadata):
    """The packages that end up in the program on any platform, and all others of Cargo.lock."""
    root = metadata["resolve"]["root"]
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    found, open_nodes = {root}, [root]
    while open_nodes:
        for dependency in nodes[open_nodes.pop()]["deps"]:
            if dependency["pkg"] not in found and any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                found.add(dependency["pkg"])
                open_nodes.append(dependency["pkg"])
    packages = sorted(metadata["packages"], key=lambda package: (package["name"], package["version"]))
    inside = [package for package in packages if package["id"] in found - {root}]
    return inside, [package for package in packages if package["id"] not in found]


def notices(package):
    """The texts of a package's licence files. A package with a choice of licences is taken under MIT if it offers that."""
    folder = pathlib.Path(package["manifest_path"]).parent
    prefixes = ("license", "licence", "copying", "notice", "unlicense")
    files = sorted(file for file in folder.iterdir() if file.is_file() and file.name.lower().startswith(prefixes))
    mit = [file for file in files if "mit" in file.name.lower()]
    if mit and "MIT" in (package["license"] or ""):
        files = mit + [file for file in files if file.name.lower().startswith("notice")]
    return ["\n".join(line.rstrip() for line in file.read_text("utf-8", "replace").strip().splitlines()) for file in files]


def main():
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--all-features"]
    inside, others = contained(json.loads(subprocess.check_output(command)))
    print("The program contains these crates; the Rust standard library comes under MIT or Apache-2.0 as well.\n")
    texts = {}
    for package in inside:
        name = f"{package['name']} {package['version']}"
        print(f"{name}: {package['license']} {package['repository'] or ''}".rstrip())
        for text in notices(package) or [f"(no file of its own: {package['license']}; {', '.join(package['authors'])})"]:
            texts.setdefault(text, []).append(name)
    print("\nOnly for building and testing, not contained:\n")
    for package in others:
        print(f"{package['name']} {package['version']}")
    for text, names in texts.items():
        print(f"\n{'=' * 80}\n{', '.join(names)}\n\n{text}")


if __name__ == "__main__":
    main()
