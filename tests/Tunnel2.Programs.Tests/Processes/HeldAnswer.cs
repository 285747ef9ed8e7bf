using Tunnel2.FunctionalTests.Processes;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.Processes;

/// <summary>An answer through the tunnel that has begun, and ends when the test says so.</summary>
internal sealed class HeldAnswer : IAsyncDisposable
{
    private const string Whole = "whole";

    private readonly Uri _release;

    private HeldAnswer(ProcessRunner visitor, Uri release)
    {
        Visitor = visitor;
        _release = release;
    }

    /// <summary>Curl, which receives it.</summary>
    public ProcessRunner Visitor { get; }

    /// <summary>A visitor asks; its answer has begun when the task ends.</summary>
    public static async Task<HeldAnswer> BeginAsync(RealTunnel tunnel)
    {
        var path = $"gather/2?id={Guid.NewGuid()}&begins=1&name={Whole}";
        var answer = new HeldAnswer(ProcessRunner.Start("curl", ["-sSN", $"{tunnel.Url}/{path}"]), new Uri(tunnel.BackendAddress, path));
        await answer.Visitor.WaitForLineAsync(static line => line == "waiting");
        return answer;
    }

    /// <summary>Lets it end, and checks that the visitor gets all of it.</summary>
    public async Task EndAsync()
    {
        (await Shell.CurlAsync(_release.ToString())).EnsureSuccess();
        Assert.Equal(0, await Visitor.WaitForExitAsync());
        Assert.Equal(Whole, Visitor.Lines[^1]);
    }

    public ValueTask DisposeAsync() => Visitor.DisposeAsync();
}
