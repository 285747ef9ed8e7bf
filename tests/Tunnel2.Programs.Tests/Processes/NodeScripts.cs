using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.Processes;

/// <summary>The clients and servers that are written for node.</summary>
internal static class NodeScripts
{
    /// <summary>Where they are.</summary>
    public static string Folder { get; } = Path.Combine(RepositoryFolder.Path, "tests", "Tunnel2.Programs.Tests", "node");

    /// <summary>Starts one; skips the test where its packages are not installed.</summary>
    public static ProcessRunner Start(string script, params string[] arguments) => Start(script, null, arguments);

    /// <summary>The same with variables of the environment.</summary>
    public static ProcessRunner Start(string script, IReadOnlyDictionary<string, string?>? environment, string[] arguments)
    {
        Assert.SkipUnless(
            Directory.Exists(Path.Combine(Folder, "node_modules")),
            "Needs node packages: npm ci --prefix tests/Tunnel2.Programs.Tests/node");
        return ProcessRunner.Start("node", ["--import", "./localhost.mjs", script, .. arguments], environment, Folder);
    }
}
