namespace Tunnel2.Architecture.Tests.Releases;

/// <summary>The packages that eng/release.sh makes for Debian, around a program that is none.</summary>
public sealed class DebianPackageTests : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory().FullName;

    [Theory]
    [InlineData("tunnel2", "tunnel2@.service", "/etc/tunnel2/tunnels.yml")]
    [InlineData("tunnel2-entry", "tunnel2-entry.service", "/etc/tunnel2/appsettings.json\n/etc/tunnel2/entry.env")]
    public async Task A_package_has_its_program_units_and_settings(string program, string unit, string settings)
    {
        Assert.SkipUnless(ReleaseTools.Has("dpkg-deb") && ReleaseTools.Has("bash"), "There is no dpkg-deb here.");
        var file = Path.Combine(_folder, "program");
        File.WriteAllText(file, "#!/bin/sh\n");

        await ReleaseTools.RunAsync("bash", "deploy/debian/build.sh", program, "1.2.3-rc.1", "amd64", file, _folder + "/work", _folder);

        var package = Path.Combine(_folder, $"{program}_1.2.3-rc.1_amd64.deb");
        Assert.Equal("1.2.3~rc.1", (await ReleaseTools.RunAsync("dpkg-deb", "-f", package, "Version")).Trim());
        var tree = Path.Combine(_folder, "tree");
        await ReleaseTools.RunAsync("dpkg-deb", "-R", package, tree);
        Assert.True(File.Exists($"{tree}/usr/bin/{program}"));
        Assert.Equal(settings, File.ReadAllText($"{tree}/DEBIAN/conffiles").Trim());
        var text = File.ReadAllText($"{tree}/usr/lib/systemd/system/{unit}");
        Assert.Contains($"\nExecStart=/usr/bin/{program}", text, StringComparison.Ordinal);
        Assert.Contains($"\nUser={program}\nGroup={program}\n", text, StringComparison.Ordinal);
        Assert.DoesNotContain("DynamicUser", text, StringComparison.Ordinal);
        Assert.DoesNotContain("dotnet /", text, StringComparison.Ordinal);
        foreach (var script in Directory.EnumerateFiles($"{tree}/DEBIAN").Where(static path => Path.GetFileName(path).StartsWith('p')))
        {
            await ReleaseTools.RunAsync("sh", "-n", script);
        }

        // No unit of the other program.
        Assert.All(
            Directory.EnumerateFiles($"{tree}/usr/lib/systemd/system"),
            path => Assert.Equal(program == "tunnel2-entry", Path.GetFileName(path).StartsWith("tunnel2-entry", StringComparison.Ordinal)));
    }

    public void Dispose() => Directory.Delete(_folder, true);
}
