using System.Net;
using System.Security.Cryptography;
using System.Text;
using System.Text.RegularExpressions;
using Tunnel2.TestUtilities;

namespace Tunnel2.LoopsStress;

/// <summary>
/// ProxyEntry with eight loops, an agent for each name, and what happens to them. The agents connect through a relay that cuts. The
/// services are in this process.
/// </summary>
internal sealed partial class StressTunnel : IAsyncDisposable
{
    private const int Loops = 8;

    /// <summary>Of the names, those whose agents live from the beginning to the end.</summary>
    private const int Steady = 2;

    private static readonly TimeSpan _startLimit = TimeSpan.FromSeconds(60);
    private static readonly int[] _uplinks = [1, 3, 1, 2, 1, 2];

    private readonly ProcessRunner?[] _agents = new ProcessRunner?[_uplinks.Length];
    private readonly RawTcpServer[] _services;
    private readonly string _folder = Directory.CreateTempSubdirectory("tunnel2-loops-").FullName;
    private CuttingProxy? _relay;

    private StressTunnel(Tally tally)
    {
        Names = [.. Enumerable.Range(0, _uplinks.Length).Select(static number => $"n{number}")];
        _services = [.. Names.Select(name => RawTcpServer.Start(new EchoService(name, tally).ServeAsync))];
    }

    public IReadOnlyList<string> Names { get; }

    public IPEndPoint Http { get; } = new(IPAddress.Loopback, FreePort.Next());

    public IPEndPoint Https { get; } = new(IPAddress.Loopback, FreePort.Next());

    public IPEndPoint Admin { get; private set; } = null!;

    public ProcessRunner Entry { get; private set; } = null!;

    /// <summary>Uplinks when all is well.</summary>
    public static int Uplinks => _uplinks.Sum();

    /// <summary>The processes that live from the beginning to the end.</summary>
    public IEnumerable<(string Name, ProcessRunner Process)> Lasting =>
        [("ProxyEntry", Entry), .. Enumerable.Range(0, Steady).Select(number => ($"agent of {Names[number]}", _agents[number]!))];

    public static async Task<StressTunnel> StartAsync(Tally tally)
    {
        var tunnel = new StressTunnel(tally);
        try
        {
            var uplink = new IPEndPoint(IPAddress.Loopback, FreePort.Next());
            tunnel.Entry = BuiltPrograms.StartEntry(
                [
                    $"--Tunnel2:Loops={Loops}", $"--Tunnel2:Public:HttpListen={tunnel.Http}",
                    $"--Tunnel2:Public:HttpsListen={tunnel.Https}", "--Tunnel2:Public:Certificate=self-made",
                    $"--Tunnel2:Uplink:Listen={uplink}", "--Tunnel2:Admin:Listen=127.0.0.1:0", $"--Tunnel2:StateFolder={tunnel._folder}",
                    .. tunnel.Names.Select(static name => $"--Tunnel2:Agents:{name}:TokenHash=sha256:{HashOf(Token(name))}"),
                ]);
            await tunnel.Entry.WaitForLineAsync(static line => line.Contains("Ready: ", StringComparison.Ordinal), _startLimit);
            var admin = tunnel.Entry.Lines.Select(static line => AdminLine().Match(line)).First(static match => match.Success);
            tunnel.Admin = IPEndPoint.Parse(admin.Groups[1].Value);
            tunnel._relay = CuttingProxy.Start(uplink);
            await Task.WhenAll(Enumerable.Range(0, _uplinks.Length)
                .Select(async number => tunnel._agents[number] = await tunnel.StartAgentAsync(number)));
            return tunnel;
        }
        catch
        {
            await tunnel.DisposeAsync();
            throw;
        }
    }

    /// <summary>Cuts one of the agents' connections.</summary>
    public void CutUplink(Random random, CutMode mode) => PickUplink(random)?.Cut(mode);

    /// <summary>Holds one of the agents' connections for a moment: nothing moves, and nothing is lost.</summary>
    public async Task HoldUplinkAsync(Random random)
    {
        if (PickUplink(random) is { } uplink)
        {
            uplink.Pause();
            await Task.Delay(random.Next(50, 600));
            uplink.Resume();
        }
    }

    /// <summary>Another agent takes a name over; the one before gets a notice, finishes and ends.</summary>
    public async Task TakeOverAsync(Random random)
    {
        var number = PickAgent(random);
        var successor = await StartAgentAsync(number);
        var before = _agents[number]!;
        _agents[number] = successor;
        await before.WaitForExitAsync(TimeSpan.FromSeconds(90));
        await before.DisposeAsync();
    }

    /// <summary>An agent is stopped in order and started again.</summary>
    public async Task DrainAgentAsync(Random random)
    {
        var number = PickAgent(random);
        _agents[number]!.Terminate();
        await _agents[number]!.WaitForExitAsync(TimeSpan.FromSeconds(90));
        await _agents[number]!.DisposeAsync();
        _agents[number] = await StartAgentAsync(number);
    }

    /// <summary>An agent is killed and started again.</summary>
    public async Task KillAgentAsync(Random random)
    {
        var number = PickAgent(random);
        await _agents[number]!.DisposeAsync();
        _agents[number] = await StartAgentAsync(number);
    }

    public async ValueTask DisposeAsync()
    {
        foreach (var agent in _agents)
        {
            await (agent?.DisposeAsync() ?? ValueTask.CompletedTask);
        }

        if (Entry is not null)
        {
            await Entry.DisposeAsync();
        }

        if (_relay is not null)
        {
            await _relay.DisposeAsync();
        }

        foreach (var service in _services)
        {
            await service.DisposeAsync();
        }

        Directory.Delete(_folder, recursive: true);
    }

    private static string Token(string name) => $"stress-token-of-{name}";

    private async Task<ProcessRunner> StartAgentAsync(int number)
    {
        var name = Names[number];
        var agent = BuiltPrograms.StartAgent(
        [
            "http", $"{_services[number].Port}", "--name", name, "--server", $"{_relay!.EndPoint}", "--token", Token(name),
            "--uplinks", $"{_uplinks[number]}",
        ]);
        await agent.WaitForLineAsync(static line => line.StartsWith("Forwarding ", StringComparison.Ordinal), _startLimit);
        return agent;
    }

    private static int PickAgent(Random random) => random.Next(Steady, _uplinks.Length);

    private ProxiedConnection? PickUplink(Random random)
    {
        var live = _relay!.Connections.Where(static connection => !connection.Closed.IsSet).ToArray();
        return live.Length == 0 ? null : live[random.Next(live.Length)];
    }

    private static string HashOf(string token) => Convert.ToHexStringLower(SHA256.HashData(Encoding.UTF8.GetBytes(token)));

    [GeneratedRegex("Listening for administration on (\\S+)")]
    private static partial Regex AdminLine();
}
