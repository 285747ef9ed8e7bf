#!/usr/bin/env python3
"""Completes a bill of materials that CycloneDX's tool for .NET has written.

The tool reads the packages that a project refers to. A program of one file also holds the runtime, whose packs are no references: they are added
here. The time is that of the commit and the serial number follows from the content, so that the same sources make the same file.
"""
import argparse
import json
import time
import uuid

LICENCE_OF_THE_RUNTIME = "MIT"


def runtime_packs(assets, rids):
    """The packs of the runtime that the program has in it, for each system."""
    packs = []
    for framework in assets["project"]["frameworks"].values():
        versions = {download["name"]: download["version"] for download in framework.get("downloadDependencies", [])}
        for name in sorted(framework.get("frameworkReferences", {})):
            fetched = [version for pack, version in versions.items() if pack.startswith(f"{name}.Runtime.")]
            # "[10.0.12, 10.0.12]": exactly this one.
            packs += [(f"{name}.Runtime.{rid}", version.strip("[]").split(",")[0].strip()) for version in fetched[:1] for rid in rids]
    return packs


def complete(bill, packs, seconds):
    kept = [part for part in bill["components"] if part.get("scope") != "excluded"]
    gone = {part["bom-ref"] for part in bill["components"]} - {part["bom-ref"] for part in kept}
    for name, version in packs:
        reference = f"pkg:nuget/{name}@{version}"
        kept.append({
            "type": "framework", "bom-ref": reference, "name": name, "version": version, "purl": reference, "scope": "required",
            "licenses": [{"license": {"id": LICENCE_OF_THE_RUNTIME}}],
            "description": "The runtime, part of each program for this system",
        })
    bill["components"] = sorted(kept, key=lambda part: part["bom-ref"])
    bill["dependencies"] = sorted(
        ({**entry, "dependsOn": sorted(set(entry.get("dependsOn", [])) - gone)} for entry in bill.get("dependencies", [])
         if entry["ref"] not in gone),
        key=lambda entry: entry["ref"])
    bill["metadata"]["timestamp"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
    bill.pop("serialNumber", None)
    bill["serialNumber"] = "urn:uuid:" + str(uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(bill, sort_keys=True)))
    return bill


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bill", help="what the tool has written")
    parser.add_argument("out")
    parser.add_argument("--time", type=int, required=True, help="the commit's time, in seconds")
    parser.add_argument("--assets", required=True, help="project.assets.json of the program's project")
    parser.add_argument("--rids", required=True, help="systems, with commas")
    given = parser.parse_args()
    # The tool writes a byte order mark.
    with open(given.bill, encoding="utf-8-sig") as file:
        bill = json.load(file)
    with open(given.assets, encoding="utf-8-sig") as file:
        assets = json.load(file)
    with open(given.out, "w", encoding="utf-8") as file:
        json.dump(complete(bill, runtime_packs(assets, given.rids.split(",")), given.time), file, indent=2, ensure_ascii=False)
        file.write("\n")


if __name__ == "__main__":
    main()
