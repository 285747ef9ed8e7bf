using System.Text.RegularExpressions;
using Tunnel2.Architecture.Tests.Repository;

namespace Tunnel2.Architecture.Tests.Sources;

public sealed partial class WaitingTests
{
    private const string AllowList = "tests/Tunnel2.Architecture.Tests/Sources/allowed-waits.txt";

    [Fact]
    public void Tests_wait_for_signals_and_never_for_time()
    {
        var allowed = Allowed();
        var waits = Waits().Where(path => !allowed.ContainsKey(path)).ToList();
        Assert.True(
            waits.Count == 0,
            $"Thread.Sleep, Task.Delay or SpinWait.SpinUntil in {string.Join(", ", waits)}. Wait for a signal; {AllowList} is for good "
                + "reasons only.");
    }

    [Fact]
    public void Every_allowed_wait_has_a_reason_and_is_still_there()
    {
        var waits = Waits().ToHashSet();
        foreach (var (path, reason) in Allowed())
        {
            Assert.True(reason.Length > 10, $"{AllowList}: {path} needs a reason.");
            Assert.True(waits.Contains(path) || !RepositoryFiles.Exists(path), $"{AllowList}: {path} waits no more; remove its line.");
        }
    }

    [Theory]
    [InlineData("await Task.Delay(1);", true)]
    [InlineData("Thread.Sleep (1);", true)]
    [InlineData("x = Task . Delay(1);", true)]
    [InlineData("SpinWait.SpinUntil(() => x)", true)]
    [InlineData("// Task.Delay(1) would be wrong here", false)]
    [InlineData("MyTask.Delays(1)", false)]
    public void The_search_finds_calls_and_not_words(string line, bool found) => Assert.Equal(found, IsWait(line));

    private static IEnumerable<string> Waits() =>
        RepositoryFiles.All(".cs", "tests").Where(path => File.ReadLines(RepositoryFiles.FullPath(path)).Any(IsWait)
            && path != "tests/Tunnel2.Architecture.Tests/Sources/WaitingTests.cs");

    private static bool IsWait(string line) => Wait().IsMatch(line.Split("//")[0]);

    private static Dictionary<string, string> Allowed() =>
        File.ReadLines(RepositoryFiles.FullPath(AllowList)).Where(line => line.Length > 0 && line[0] != '#')
            .Select(line => line.Split("  ", 2)).ToDictionary(parts => parts[0].Trim(), parts => parts.Length == 2 ? parts[1].Trim() : "");

    [GeneratedRegex(@"\b(Thread\s*\.\s*Sleep|Task\s*\.\s*Delay|SpinWait\s*\.\s*SpinUntil)\s*\(")]
    private static partial Regex Wait();
}
