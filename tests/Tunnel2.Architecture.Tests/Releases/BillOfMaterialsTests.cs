using System.Text.Json.Nodes;

namespace Tunnel2.Architecture.Tests.Releases;

/// <summary>eng/release/sbom.py, which completes what CycloneDX's tool writes.</summary>
public sealed class BillOfMaterialsTests : IDisposable
{
    private const string Bill =
        """
        {
          "bomFormat": "CycloneDX", "specVersion": "1.6", "serialNumber": "urn:uuid:00000000-0000-0000-0000-000000000001", "version": 1,
          "metadata": { "timestamp": "2026-01-01T00:00:00Z", "component": { "type": "application", "bom-ref": "a@1", "name": "a" } },
          "components": [
            { "type": "library", "bom-ref": "pkg:nuget/B@2", "name": "B", "version": "2", "scope": "required", "purl": "pkg:nuget/B@2" },
            { "type": "library", "bom-ref": "pkg:nuget/Tool@1", "name": "Tool", "version": "1", "scope": "excluded" }
          ],
          "dependencies": [
            { "ref": "a@1", "dependsOn": [ "pkg:nuget/Tool@1", "pkg:nuget/B@2" ] }, { "ref": "pkg:nuget/Tool@1", "dependsOn": [] }
          ]
        }
        """;

    private const string Assets =
        """
        { "project": { "frameworks": { "net10.0": {
          "frameworkReferences": { "Microsoft.NETCore.App": {} },
          "downloadDependencies": [
            { "name": "Microsoft.NETCore.App.Runtime.linux-x64", "version": "[10.0.12, 10.0.12]" },
            { "name": "Microsoft.AspNetCore.App.Runtime.linux-x64", "version": "[10.0.12, 10.0.12]" },
            { "name": "Microsoft.NETCore.App.Crossgen2.linux-x64", "version": "[10.0.12, 10.0.12]" }
          ] } } } }
        """;

    private readonly string _folder = Directory.CreateTempSubdirectory().FullName;

    [Fact]
    public async Task The_runtime_is_added_tools_are_left_out_and_the_same_sources_make_the_same_bill()
    {
        Assert.SkipUnless(ReleaseTools.Has("python3"), "There is no python3 here.");
        var first = await CompleteAsync("first.json");
        var bill = JsonNode.Parse(first)!;

        Assert.Equal(("CycloneDX", "1.6"), ((string?)bill["bomFormat"], (string?)bill["specVersion"]));
        Assert.Equal("2023-11-14T22:13:20Z", (string?)bill["metadata"]!["timestamp"]);
        Assert.Matches("^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$", (string?)bill["serialNumber"]);
        Assert.Equal(
            [
                "pkg:nuget/B@2", "pkg:nuget/Microsoft.NETCore.App.Runtime.linux-x64@10.0.12",
                "pkg:nuget/Microsoft.NETCore.App.Runtime.win-x64@10.0.12",
            ],
            bill["components"]!.AsArray().Select(static part => (string?)part!["purl"]));
        Assert.All(
            bill["components"]!.AsArray().Skip(1),
            static part => Assert.Equal("MIT", (string?)part!["licenses"]![0]!["license"]!["id"]));
        Assert.Equal(
            """[{"ref":"a@1","dependsOn":["pkg:nuget/B@2"]}]""", bill["dependencies"]!.ToJsonString());
        Assert.Equal(first, await CompleteAsync("second.json"));
    }

    public void Dispose() => Directory.Delete(_folder, true);

    private async Task<string> CompleteAsync(string name)
    {
        var (bill, assets, completed) = (Path.Combine(_folder, "bill"), Path.Combine(_folder, "assets"), Path.Combine(_folder, name));
        await File.WriteAllTextAsync(bill, Bill);
        await File.WriteAllTextAsync(assets, Assets);
        await ReleaseTools.RunAsync(
            "python3", "eng/release/sbom.py", bill, completed, "--time", "1700000000", "--assets", assets, "--rids", "linux-x64,win-x64");
        return await File.ReadAllTextAsync(completed);
    }
}
