using Tunnel2.FunctionalTests.Processes;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.Processes;

/// <summary>The clients and servers that are written for Debian's Python.</summary>
internal static class PythonScripts
{
    private const string Interpreter = "/usr/bin/python3";

    private static readonly string _folder = Path.Combine(RepositoryFolder.Path, "tests", "Tunnel2.Programs.Tests", "python");

    private static readonly Lazy<Task<bool>> _hasGrpc = new(static () => HasAsync("grpc"));

    private static readonly Lazy<Task<bool>> _hasWebSockets = new(static () => HasAsync("websockets, tornado, aiohttp"));

    /// <summary>Skips the test where gRPC for Python is not installed.</summary>
    public static async Task AssertGrpcAsync() =>
        Assert.SkipUnless(await _hasGrpc.Value, "Needs gRPC for Python (Debian package python3-grpcio).");

    /// <summary>Skips the test where Python's implementations of WebSockets are not installed.</summary>
    public static async Task AssertWebSocketsAsync() => Assert.SkipUnless(
        await _hasWebSockets.Value,
        "Needs WebSockets for Python (Debian packages python3-websockets, python3-tornado and python3-aiohttp).");

    /// <summary>Starts one.</summary>
    public static ProcessRunner Start(string script, params string[] arguments) =>
        ProcessRunner.Start(Interpreter, [script, .. arguments], null, _folder);

    private static async Task<bool> HasAsync(string module) =>
        File.Exists(Interpreter) && (await Shell.RunAsync(Interpreter, "-c", $"import {module}")).ExitCode == 0;
}
