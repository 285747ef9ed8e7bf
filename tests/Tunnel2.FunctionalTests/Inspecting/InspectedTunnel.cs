using System.Net;
using System.Text;
using System.Text.Json;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Inspecting;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.Inspection.Capture;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Inspecting;

/// <summary>A tunnel whose agent is inspected, with the inspector's own listener.</summary>
internal sealed class InspectedTunnel : IAsyncDisposable
{
    private const string Exchanges = "/api/v1/sessions/web/exchanges";

    private readonly InspectorServer _server;
    private readonly HttpClient _client;

    private InspectedTunnel(TunnelFixture tunnel, AgentInspection inspection, InspectorServer server)
    {
        Tunnel = tunnel;
        Inspection = inspection;
        _server = server;
        _client = new HttpClient(new SocketsHttpHandler { UseProxy = false, UseCookies = false }) { BaseAddress = new Uri(server.Url) };
    }

    public TunnelFixture Tunnel { get; }

    public AgentInspection Inspection { get; }

    public ExchangeStore Store => Inspection.Store;

    public IPEndPoint EndPoint => _server.EndPoint;

    /// <summary>Runs a test with a backend that does what the test says.</summary>
    public static Task RunAsync(
        Func<RawConnection, Task> onConnection,
        Func<InspectedTunnel, Task> test,
        InspectionLimits? limits = null,
        Func<AgentOptions, AgentOptions>? agent = null)
    {
        var setup = Setup(limits, agent, out var options);
        return TunnelFixture.RunAsync(onConnection, tunnel => RunAsync(tunnel, options(), test), setup);
    }

    /// <summary>Runs a test with the test backend.</summary>
    public static Task RunAsync(
        Func<InspectedTunnel, Task> test, InspectionLimits? limits = null, Func<AgentOptions, AgentOptions>? agent = null)
    {
        var setup = Setup(limits, agent, out var options);
        return TunnelFixture.RunAsync(tunnel => RunAsync(tunnel, options(), test), setup);
    }

    /// <summary>Runs a test with a backend that listens already.</summary>
    public static Task RunAsync(int backendPort, Func<InspectedTunnel, Task> test, Func<AgentOptions, AgentOptions> agent)
    {
        var setup = Setup(null, agent, out var options);
        return TunnelFixture.RunAsync(backendPort, tunnel => RunAsync(tunnel, options(), test), setup);
    }

    /// <summary>A backend that answers each request with the same.</summary>
    public static Func<RawConnection, Task> Answering(string response) => Answering(Encoding.Latin1.GetBytes(response));

    public static Func<RawConnection, Task> Answering(byte[] response) => async connection =>
    {
        while (true)
        {
            var head = await connection.ReadHeadAsync();
            await connection.ReadBodyAsync(head, head.Method);
            await connection.WriteAsync(response);
        }
    };

    /// <summary>The JSON at a path below the exchanges.</summary>
    public async Task<JsonElement> GetAsync(string rest = "")
    {
        using var json = JsonDocument.Parse(await _client.GetStringAsync(Exchanges + rest));
        return json.RootElement.Clone();
    }

    /// <summary>The answer to a POST, as JSON, with its status.</summary>
    public async Task<(int Status, JsonElement Json)> PostAsync(string rest, string? json = null)
    {
        using var content = json is null ? null : new StringContent(json, Encoding.UTF8, "application/json");
        using var response = await _client.PostAsync(Exchanges + rest, content);
        using var parsed = JsonDocument.Parse(await response.Content.ReadAsStringAsync());
        return ((int)response.StatusCode, parsed.RootElement.Clone());
    }

    /// <summary>An exchange with the inspector, byte for byte.</summary>
    public async Task<(RawHttpHead Head, RawHttpBody Body)> RawAsync(string method, string path, string host, string fields = "")
    {
        await using var visitor = await RawHttpClient.ConnectAsync(EndPoint);
        return await visitor.ExchangeAsync(path, host, method, fields);
    }

    /// <summary>Waits until an exchange is over.</summary>
    public async Task<ExchangeCapture> EndedAsync(long id)
    {
        while (true)
        {
            var version = Store.Version;
            if (Store.Find(id) is { IsEnded: true } capture)
            {
                return capture;
            }

            await Store.WaitForChangeAsync(version, TimeSpan.FromSeconds(10), TestContext.Current.CancellationToken);
        }
    }

    public async ValueTask DisposeAsync()
    {
        _client.Dispose();
        await _server.DisposeAsync();
    }

    private static TunnelSetup Setup(
        InspectionLimits? limits, Func<AgentOptions, AgentOptions>? agent, out Func<AgentOptions> options)
    {
        AgentOptions? seen = null;
        options = () => seen!;
        return new TunnelSetup
        {
            Agent = given => seen = (agent ?? (static same => same))(given) with
            {
                Inspection = new AgentInspection(new ExchangeStore(limits ?? InspectionLimits.Default, TimeProvider.System)),
                InspectorAddress = new InspectorAddress(IPAddress.Loopback, 0),
            },
        };
    }

    private static async Task RunAsync(TunnelFixture tunnel, AgentOptions options, Func<InspectedTunnel, Task> test)
    {
        var session = new InspectedSession(options, TimeProvider.System);
        var server = InspectorServer.TryStart(options, [session], TimeProvider.System, out var problem);
        Assert.Null(problem);
        await using var inspected = new InspectedTunnel(tunnel, options.Inspection!, server!);
        await test(inspected);
    }
}
