using System.Net;
using System.Text;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Connections;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Fronts.Http1;
using Tunnel2.ProxyEntry.Fronts.Http1.Output;
using Tunnel2.ProxyEntry.Fronts.Raw;
using Tunnel2.ProxyEntry.Requests;
using Tunnel2.ProxyEntry.Tests.Configuration;
using Tunnel2.ProxyEntry.Tests.Fronts.Http1;
using Tunnel2.ProxyEntry.Tests.InMemory;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Fronts.Raw;

/// <summary>Connections without HTTP in memory: the test is the visitor, and says what the forwarder does.</summary>
public sealed class RawFrontTests
{
    private static readonly RawTarget _tcp = new(SessionKind.Tcp, "ssh.localhost", 20_000);
    private static readonly RawTarget _tls = new(SessionKind.Tls, "web.localhost", 443);

    private readonly ManualTimeProvider _time = new();
    private readonly RecordedLog<RawFront> _log = new();

    [Fact]
    public async Task A_connection_is_a_request_to_switch_with_the_addresses_of_the_visitor()
    {
        var block = "";
        await RunAsync(_tcp, (exchange, _) =>
        {
            block = ScriptedForwarder.Describe(exchange);
            Assert.Equal(
                ("CONNECT", "tcp:20000", true, true, false, IPAddress.Parse("10.1.2.3")),
                (exchange.Method, exchange.Target, exchange.IsUpgrade, exchange.IsRaw, exchange.HasBody, exchange.RemoteAddress));
            return ValueTask.CompletedTask;
        });
        Assert.Equal(
            "CONNECT tcp ssh.localhost:20000 \nTunnel2-Source: 10.1.2.3:1\nTunnel2-Destination: 127.0.0.1:20000\n", block);
    }

    [Theory]
    [InlineData("::ffff:10.1.2.3", "10.1.2.3:1")]
    [InlineData("fe80::1%7", "[fe80::1]:1")]
    [InlineData("2001:db8::1", "[2001:db8::1]:1")]
    public async Task Addresses_have_the_form_that_means_the_same_on_other_machines(string remote, string text)
    {
        var block = "";
        await new Visitor(_tcp, remote: remote).RunAsync(
            (exchange, _) =>
            {
                block = ScriptedForwarder.Describe(exchange);
                return ValueTask.CompletedTask;
            },
            _time,
            _log);
        Assert.Contains($"\nTunnel2-Source: {text}\n", block, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Bytes_pass_in_both_directions_and_each_ends_alone()
    {
        var visitor = await RunAsync(_tcp, static async (exchange, _) =>
        {
            var bytes = await exchange.UpgradeAsync();
            Assert.True(exchange.HasResponseStarted);
            Assert.Equal("hello", await ScriptedForwarder.ReadBodyAsync(exchange));
            Assert.True(await bytes.SendAsync("world"u8.ToArray()));
            Assert.True(await bytes.EndSendAsync());
        });
        Assert.Equal(("world", false), (await visitor.ReceiveAllAsync(), visitor.IsAborted));
    }

    [Theory]
    [InlineData(nameof(ProxyError.AgentOffline))]
    [InlineData(nameof(ProxyError.BackendRefused))]
    [InlineData(nameof(ProxyError.UnknownName))]
    public async Task A_connection_that_leads_nowhere_is_reset(string error)
    {
        var visitor = await RunAsync(
            _tcp, (exchange, _) => new ValueTask(exchange.WriteErrorAsync(Enum.Parse<ProxyError>(error), default)));
        Assert.True(visitor.IsAborted);
    }

    [Theory]
    [InlineData(nameof(ProxyError.UnknownName), 112)]
    [InlineData(nameof(ProxyError.UnknownHost), 112)]
    [InlineData(nameof(ProxyError.BackendRefused), 80)]
    public async Task One_of_TLS_gets_an_alert_that_says_why(string error, int alert)
    {
        var visitor = await RunAsync(
            _tls, (exchange, _) => new ValueTask(exchange.WriteErrorAsync(Enum.Parse<ProxyError>(error), default)));
        var bytes = Encoding.Latin1.GetBytes(await visitor.ReceiveAllAsync());
        Assert.Equal((7, 21, 2, alert, false), (bytes.Length, bytes[0], bytes[5], bytes[6], visitor.IsAborted));
    }

    [Fact]
    public async Task A_fault_of_the_server_breaks_the_connection_and_is_logged()
    {
        var visitor = await RunAsync(_tcp, static (_, _) => throw new InvalidOperationException("a fault"));
        Assert.True(visitor.IsAborted);
        Assert.Single(_log.Lines);
    }

    [Fact]
    public async Task A_visitor_that_is_gone_is_no_fault()
    {
        var visitor = await RunAsync(_tcp, static (_, _) => throw new IOException("gone"));
        Assert.True(visitor.IsAborted);
        Assert.Empty(_log.Lines);
    }

    [Fact]
    public async Task A_visitor_whose_connection_breaks_while_nothing_is_read_is_found_within_a_second()
    {
        var left = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var link = new ScriptedLink();
        var visitor = new Visitor(_tcp, link);
        var running = visitor.RunAsync(
            async (exchange, _) =>
            {
                await using var registration = exchange.VisitorLeft.Register(left.SetResult);
                await left.Task;
            },
            _time,
            _log);
        _time.Advance(TimeSpan.FromSeconds(1));
        Assert.False(left.Task.IsCompleted);
        link.IsLost = true;
        _time.Advance(TimeSpan.FromSeconds(1));
        await running;
        Assert.True(left.Task.IsCompletedSuccessfully);
    }

    [Fact]
    public async Task The_timer_rests_while_there_is_no_connection()
    {
        using var front = CreateFront((_, _) => ValueTask.CompletedTask, _time, _log);
        Assert.Equal(0, _time.ArmedTimers.Value);
        await new Visitor(_tcp).RunAsync(front);
        Assert.Equal(1, _time.ArmedTimers.Value);
        _time.Advance(TimeSpan.FromSeconds(1));
        Assert.Equal(0, _time.ArmedTimers.Value);
        await new Visitor(_tcp).RunAsync(front);
        Assert.Equal(1, _time.ArmedTimers.Value);
    }

    [Fact]
    public void Connections_have_no_idle_limit_unless_a_setting_says_one_and_associations_have_theirs()
    {
        using var front = CreateFront((_, _) => ValueTask.CompletedTask, _time, _log, "Udp:Idle=30s");
        Assert.Equal((long.MaxValue, long.MaxValue), (front.IdleLimitOf(SessionKind.Tcp), front.IdleLimitOf(SessionKind.Tls)));
        Assert.Equal(30_000, front.IdleLimitOf(SessionKind.Udp));
        using var limited = CreateFront((_, _) => ValueTask.CompletedTask, _time, _log, "Tcp:Idle=2m");
        Assert.Equal(120_000, limited.IdleLimitOf(SessionKind.Tcp));
    }

    [Theory]
    [InlineData("off", long.MaxValue)]
    [InlineData("90s", 90_000)]
    public void Half_of_a_connection_has_the_limit_that_the_settings_say(string setting, long limit)
    {
        using var front = CreateFront((_, _) => ValueTask.CompletedTask, _time, _log, $"Tcp:HalfClosed={setting}");
        Assert.Equal(limit, front.HalfClosedLimit);
    }

    private static RawFront CreateFront(
        Func<VisitorExchange, ForwardedRequest, ValueTask> script,
        TimeProvider time,
        RecordedLog<RawFront> log,
        params string[] settings) =>
        new(new ScriptedForwarder(script), SettingsFixture.LoadValid(settings), time, new ContainedFaults(time), log);

    private async Task<Visitor> RunAsync(RawTarget target, Func<VisitorExchange, ForwardedRequest, ValueTask> script)
    {
        var visitor = new Visitor(target);
        await visitor.SendAllAsync("hello");
        await visitor.RunAsync(script, _time, _log);
        return visitor;
    }

    private sealed class ScriptedLink : IVisitorLinkFeature
    {
        public bool IsLost { get; set; }

        public bool SeesAllSent => true;

        public int Undelivered => 0;
    }

    /// <summary>A connection in memory.</summary>
    private sealed class Visitor
    {
        private readonly DuplexPipePair _pipes = new(DuplexPipePair.CreateOptions(64 * 1024, null));
        private readonly RawTarget _target;
        private readonly VisitorTransport _transport;

        public Visitor(RawTarget target, IVisitorLinkFeature? link = null, string remote = "10.1.2.3")
        {
            _target = target;
            _transport = new VisitorTransport
            {
                Input = _pipes.Right.Input,
                OutputPipe = _pipes.Right.Output,
                Output = new PipeOutput(_pipes.Right.Output, null, endsByCompletion: true),
                Id = "c1",
                Remote = new IPEndPoint(IPAddress.Parse(remote), 1),
                Local = new IPEndPoint(IPAddress.Loopback, 20_000),
                Link = link,
                Abort = () => IsAborted = true,
            };
        }

        public bool IsAborted { get; private set; }

        public async Task SendAllAsync(string text)
        {
            await _pipes.Left.Output.WriteAsync(Encoding.Latin1.GetBytes(text));
            await _pipes.Left.Output.CompleteAsync();
        }

        public Task RunAsync(RawFront front) => front.ServeAsync(_transport, _target);

        public async Task RunAsync(Func<VisitorExchange, ForwardedRequest, ValueTask> script, TimeProvider time, RecordedLog<RawFront> log)
        {
            using var front = CreateFront(script, time, log);
            await RunAsync(front);
        }

        public async Task<string> ReceiveAllAsync()
        {
            using var received = new MemoryStream();
            await _pipes.Left.Input.CopyToAsync(received);
            return Encoding.Latin1.GetString(received.ToArray());
        }
    }
}
