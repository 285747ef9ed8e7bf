namespace Tunnel2.TestUtilities.Tests.Processes;

public sealed class ProcessRunnerTests
{
    [Fact]
    public async Task A_line_of_either_output_can_be_waited_for_late_too()
    {
        await using var process = Shell("echo out; echo err >&2; sleep 60 & wait"); // No exec: between two programs it has no memory.
        Assert.Equal("err", await process.WaitForLineAsync(line => line == "err"));
        Assert.Equal("out", await process.WaitForLineAsync(line => line.StartsWith('o')));
        Assert.False(process.HasExited);
        Assert.True(process.ReadResidentBytes() > 100_000);
        Assert.True(process.ReadProcessorTime() < TimeSpan.FromSeconds(10));
    }

    [Fact]
    public async Task A_process_that_ends_without_the_line_fails_the_wait_with_its_output()
    {
        await using var process = Shell("echo sorry >&2; exit 3");
        var e = await Assert.ThrowsAsync<InvalidOperationException>(() => process.WaitForLineAsync(_ => false));
        Assert.Contains("ended with 3", e.Message, StringComparison.Ordinal);
        Assert.Contains("sorry", e.Message, StringComparison.Ordinal);
        Assert.Equal(3, await process.WaitForExitAsync());
    }

    [Fact]
    public async Task A_line_that_does_not_come_in_time_fails_the_wait()
    {
        await using var process = Shell("echo hello; exec sleep 60");
        var e = await Assert.ThrowsAsync<TimeoutException>(
            () => process.WaitForLineAsync(line => line == "other", TimeSpan.FromMilliseconds(100)));
        Assert.Contains("did not print", e.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Signals_reach_it()
    {
        await using var stopped = Shell("exec sleep 60");
        stopped.Terminate();
        Assert.Equal(128 + 15, await stopped.WaitForExitAsync());
        await using var killed = Shell("exec sleep 60");
        killed.Kill();
        Assert.Equal(128 + 9, await killed.WaitForExitAsync());
    }

    [Fact]
    public async Task A_suspended_process_stalls_until_it_is_resumed()
    {
        await using var process = Shell("echo ready; read line; echo done; exec sleep 60");
        await process.WaitForLineAsync(line => line == "ready");
        process.Suspend();
        await WaitSignal.UntilAsync(() => State(process.Id) == 'T', "the process is stopped");
        process.Resume();
        await WaitSignal.UntilAsync(() => State(process.Id) != 'T', "the process continues");
    }

    [Fact]
    public async Task Disposing_kills_the_children_too()
    {
        var process = Shell("sleep 60 & echo $!; wait");
        var child = int.Parse(await process.WaitForLineAsync(_ => true), System.Globalization.CultureInfo.InvariantCulture);
        await process.DisposeAsync();
        await WaitSignal.UntilAsync(() => State(child) is 'Z' or null, "the child is gone");
    }

    [Fact]
    public void Free_ports_are_distinct()
    {
        var ports = Enumerable.Range(0, 50).Select(_ => FreePort.Next()).ToList();
        Assert.Equal(ports.Count, ports.Distinct().Count());
        Assert.All(ports, port => Assert.InRange(port, 1024, 65535));
    }

    private static ProcessRunner Shell(string script) => ProcessRunner.Start("/bin/sh", ["-c", script]);

    /// <summary>The state letter of /proc/ID/stat, after the name in parentheses; null when there is no such process.</summary>
    private static char? State(int id)
    {
        try
        {
            var stat = File.ReadAllText($"/proc/{id}/stat");
            return stat[stat.LastIndexOf(')') + 2];
        }
        catch (IOException)
        {
            return null;
        }
    }
}
