using System.Diagnostics.Metrics;
using System.Text.RegularExpressions;
using Tunnel2.Client.Core.Exchanges;
using Tunnel2.Client.Core.Session;
using Tunnel2.Client.Core.Ways;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Observability;

/// <summary>The agent's limits, as a listener of its meter sees them.</summary>
public sealed partial class AgentMetricsTests
{
    private const string Name = "metrics-of-the-agent";

    [Fact]
    public void Each_limit_says_what_is_used_of_it_and_what_it_refused()
    {
        using var exchanges = Exchanges();
        using var uploads = new ReceiveBudget(64 * 1024 * 1024, TimeProvider.System);
        using var metrics = new AgentMetrics(Name, exchanges, uploads, new UplinkWays(AgentFixture.Options(1, 1), Random.Shared));
        exchanges.Begin();
        Assert.False(exchanges.IsOneTooMany());
        exchanges.Begin();
        Assert.True(exchanges.IsOneTooMany());
        exchanges.Connector.OnShortage!(Protocol.Errors.StreamResetDetail.TooManyConnections);

        var values = Read();
        Assert.Equal(1, values["tunnel2.agent.streams.limit"]);
        Assert.Equal(2, values["tunnel2.agent.streams"]);
        Assert.Equal(1, values["tunnel2.agent.streams.refused"]);
        Assert.Equal(1, values["tunnel2.agent.backend.connections.short"]);
        Assert.Equal(0, values["tunnel2.agent.backend.connections"]);
        Assert.Equal(uploads.Limit, values["tunnel2.agent.receive.limit"]);
        Assert.Equal(0, values["tunnel2.agent.receive.cut"]);
    }

    [Fact]
    public void The_document_lists_them_all_and_no_others()
    {
        using var exchanges = Exchanges();
        using var uploads = new ReceiveBudget(64 * 1024 * 1024, TimeProvider.System);
        using var metrics = new AgentMetrics(Name, exchanges, uploads, new UplinkWays(AgentFixture.Options(1, 1), Random.Shared));
        var documented = File.ReadLines(Path.Combine(RepositoryFolder.Path, "docs", "observability.md"))
            .Select(static line => TableRow().Match(line))
                .Where(static match => match.Success)
                .Select(static match => match.Groups[1].Value);
        Assert.Equal(Read().Keys.Order(StringComparer.Ordinal), documented.Order(StringComparer.Ordinal));
    }

    [Fact]
    public async Task A_tunnel_shows_its_own_connections_and_the_share_that_others_leave_free()
    {
        using var exchanges = Exchanges();
        using var uploads = new ReceiveBudget(64 * 1024 * 1024, TimeProvider.System);
        using var metrics = new AgentMetrics(Name, exchanges, uploads, new UplinkWays(AgentFixture.Options(1, 1), Random.Shared));
        var slots = exchanges.Connector.Slots;
        Assert.Equal(0, Read()["tunnel2.agent.backend.connections.share"]);

        using var other = slots.All.AddTunnel();
        await other.TakeAsync(null, TestContext.Current.CancellationToken);
        await other.TakeAsync(null, TestContext.Current.CancellationToken);
        await slots.TakeAsync(null, TestContext.Current.CancellationToken);

        var values = Read();
        Assert.Equal(3, values["tunnel2.agent.backend.connections"]);
        Assert.Equal(1, values["tunnel2.agent.backend.connections.own"]);
        Assert.Equal(slots.All.Limit / 4, values["tunnel2.agent.backend.connections.share"]);
        slots.Release();
        Assert.Equal(0, Read()["tunnel2.agent.backend.connections.own"]);
    }

    private static ExchangeContext Exchanges() =>
        new(AgentFixture.Options(1, 1) with { Name = Name, MaxStreams = 1 }, new AgentEventLog(), TimeProvider.System);

    private static Dictionary<string, long> Read()
    {
        var values = new Dictionary<string, long>();
        using var listener = new MeterListener
        {
            InstrumentPublished = static (instrument, listener) =>
            {
                if (instrument.Meter.Name == AgentMetrics.MeterName
                    && instrument.Meter.Tags?.Any(static tag => tag is { Key: "tunnel", Value: Name }) == true)
                {
                    listener.EnableMeasurementEvents(instrument);
                }
            },
        };
        listener.SetMeasurementEventCallback<long>((instrument, value, _, _) => values.Add(instrument.Name, value));
        listener.Start();
        listener.RecordObservableInstruments();
        return values;
    }

    [GeneratedRegex(@"^\| `(tunnel2\.agent\.[a-z.]+)` \|")]
    private static partial Regex TableRow();
}
