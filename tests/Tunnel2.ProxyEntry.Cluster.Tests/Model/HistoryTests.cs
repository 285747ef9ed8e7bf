using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Cluster.Tests.Model;

/// <summary>Random histories of registrations, lease losses, takeovers and partitions against what a cluster promises.</summary>
public sealed class HistoryTests
{
    private const int Histories = 10_000;

    [Fact]
    public Task No_name_has_two_owners_and_no_registration_is_lost() => SeededRandom.RunAsync(async random =>
    {
        for (var i = 0; i < Histories; i++)
        {
            var seed = random.Next();
            try
            {
                await new History(new Random(seed)).RunAsync();
            }
            catch (Exception exception)
            {
                throw new InvalidOperationException($"History {i} (its own seed: {seed}): {exception.Message}", exception);
            }
        }
    });
}
