using System.Net;
using System.Net.Sockets;
using System.Text;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.Relay;
using Tunnel2.TestUtilities;

namespace Tunnel2.Telemetry.Tests.Relay;

/// <summary>Who becomes a client of the relay: tokens, other transports, and connections that only wait.</summary>
public sealed class RelayAccessTests
{
    private const long FromOldest = EventRingReaderOptions.FromOldest;

    private static readonly byte[] _token = Encoding.UTF8.GetBytes("s3cret");

    private static RelayServerOptions WithToken => new()
    {
        Admit = static (_, token) => token.Span.SequenceEqual(_token) ? RelayStatus.Accepted : RelayStatus.NotAuthorized,
    };

    [Fact]
    public async Task The_right_token_gets_every_record()
    {
        await using var f = new RelayFixture();
        f.Start(WithToken);
        f.Publish(0, 100);
        CheckingSink sink = f.Follow(FromOldest, static options => options with { Token = _token });
        await sink.When(static s => s.Next == 100);
        Assert.Null(sink.Error);
    }

    [Fact]
    public async Task A_wrong_a_cut_and_a_missing_token_get_the_same_bytes_and_nothing_else()
    {
        await using var f = new RelayFixture();
        f.Publish(0, 100);
        f.Start(WithToken);
        byte[] wrong = Ask(f, Hello("s3creT"));
        Assert.Equal(wrong, Ask(f, Hello("s3cre")));
        Assert.Equal(wrong, Ask(f, Hello("s3cret ")));
        Assert.Equal(wrong, Ask(f, Hello("")));
        Assert.Equal(wrong, Ask(f, Hello(new string('x', RelayFrame.MaxToken))));
        Assert.Equal(RelayFrame.HeaderLength + RelayFrame.WelcomeLength, wrong.Length);
        Assert.Equal(RelayStatus.NotAuthorized, StatusOf(wrong));

        // Neither the ring's id nor its numbers are in it.
        Assert.Equal(new byte[16], wrong[^16..]);
    }

    [Fact]
    public async Task A_client_that_is_refused_for_its_token_does_not_try_again()
    {
        await using var f = new RelayFixture();
        EventRelayServer server = f.Start(WithToken);
        var sink = new CheckingSink();
        var client = new EventRelayClient(
            new RelayClientOptions { Server = server.LocalEndPoint, OnDisconnected = (end, _) => sink.OnEnd(end) }, sink);
        Assert.Equal(
            RelayClientEnd.NotAuthorized,
            await client.RunAsync(TestContext.Current.CancellationToken).WaitAsync(RelayFixture.Limit, CancellationToken.None));
        Assert.Empty(sink.Ends);
    }

    [Fact]
    public async Task A_token_does_no_harm_where_none_is_wanted()
    {
        await using var f = new RelayFixture();
        f.Start();
        f.Publish(0, 1);
        CheckingSink sink = f.Follow(FromOldest, static options => options with { Token = _token });
        await sink.When(static s => s.Next == 1);
    }

    [Fact]
    public async Task A_token_that_is_too_long_is_a_bad_hello()
    {
        await using var f = new RelayFixture();
        f.Start(WithToken);
        Assert.Equal(RelayStatus.BadHello, StatusOf(Ask(f, Hello(new string('x', RelayFrame.MaxToken + 1)))));
        Assert.Throws<ArgumentOutOfRangeException>(
            () => new EventRelayClient(
                new RelayClientOptions { Server = f.Server!.LocalEndPoint, Token = new byte[RelayFrame.MaxToken + 1] },
                new CheckingSink()));
    }

    [Fact]
    public async Task Connections_that_only_wait_take_no_place_of_a_client_and_no_other_addresses_place()
    {
        await using var f = new RelayFixture();
        EventRelayServer server = f.Start(
            new RelayServerOptions { MaxClients = 1, MaxStrangers = 8, HelloTimeout = TimeSpan.FromMinutes(5) });
        Socket[] silent = [.. Enumerable.Range(0, 20).Select(_ => f.Connect())];
        await WaitSignal.UntilAsync(
            () => silent.Count(IsCutOff) == 16 && server.StrangerCount == 4, "one address has half of the places", RelayFixture.Limit);
        Assert.Equal(0, server.ConnectionCount);

        // From another address the only place of a client is still available.
        using var other = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { ReceiveTimeout = 20_000 };
        other.Bind(new IPEndPoint(IPAddress.Parse("127.0.0.2"), 0));
        other.Connect(server.LocalEndPoint);
        other.Send(Hello(""));
        Assert.Equal(RelayStatus.Accepted, StatusOf(Receive(other)));
        Assert.Equal(1, server.ConnectionCount);

        // A place is free again when one of them leaves, and its hello is heard: there is no place for a second client.
        silent.First(static socket => !IsCutOff(socket)).Dispose();
        await WaitSignal.UntilAsync(() => server.StrangerCount == 3, "it has left", RelayFixture.Limit);
        Assert.Equal(RelayStatus.TooManyClients, StatusOf(Ask(f, Hello(""))));
        Array.ForEach(silent, static socket => socket.Dispose());
    }

    [Fact]
    public async Task A_peer_that_sends_nothing_is_cut_off_and_gives_its_place_back()
    {
        await using var f = new RelayFixture();
        EventRelayServer server = f.Start(new RelayServerOptions { HelloTimeout = TimeSpan.FromMilliseconds(50) });
        using Socket silent = f.Connect();
        Assert.Equal(0, silent.Receive(new byte[1]));
        await WaitSignal.UntilAsync(() => server.StrangerCount == 0, "its place is free", RelayFixture.Limit);
    }

    [Theory]
    [InlineData("192.0.2.7", "192.0.2.8", false)]
    [InlineData("192.0.2.7", "::ffff:192.0.2.7", true)]
    [InlineData("2001:db8:1:2::1", "2001:db8:1:2:ffff::2", true)]
    [InlineData("2001:db8:1:2::1", "2001:db8:1:3::1", false)]
    public void Addresses_of_one_network_count_together(string first, string second, bool together)
    {
        var strangers = new RelayStrangers(2);
        Assert.True(strangers.TryEnter(IPAddress.Parse(first)));
        Assert.Equal(!together, strangers.TryEnter(IPAddress.Parse(second)));
        strangers.Leave(IPAddress.Parse(first));
        Assert.True(strangers.TryEnter(IPAddress.Parse(first)));
    }

    [Theory]
    [InlineData(1, 32)]
    [InlineData(2, 21)]
    [InlineData(4, 12)]
    public void Addresses_that_take_all_they_get_leave_as_many_places_to_another(int addresses, int expected)
    {
        var strangers = new RelayStrangers(64);
        for (var i = 0; i < 64; i++)
        {
            for (var address = 1; address <= addresses; address++)
            {
                _ = strangers.TryEnter(IPAddress.Parse($"192.0.2.{address}"));
            }
        }

        Assert.InRange(64 - strangers.Count, expected, expected + 1);
        Assert.True(strangers.TryEnter(IPAddress.Parse("192.0.2.77")));
    }

    [Fact]
    public async Task Over_a_transport_of_others_every_record_comes_and_a_client_that_reads_nothing_is_closed()
    {
        await using var f = new RelayFixture(1 << 16);
        EventRelayServer server = f.Start(new RelayServerOptions
        {
            ClientBuffer = 1 << 20,
            SendBuffer = 16 * 1024,
            Encrypt = static (socket, _) => Task.FromResult<(RelayTransport?, bool)>((Foreign(socket), false)),
        });
        CheckingSink good = f.Follow(
            FromOldest,
            static options => options with { Encrypt = static (socket, _) => Task.FromResult<RelayTransport?>(Foreign(socket)) });
        using Socket slow = f.Connect(receiveBuffer: 8 * 1024);
        slow.Send(Hello(""));
        Assert.Equal(RelayStatus.Accepted, StatusOf(Receive(slow)));
        await WaitSignal.UntilAsync(() => server.ConnectionCount == 2, "both are clients", RelayFixture.Limit);
        long published = 0;
        while (server.ConnectionCount == 2 && published < 200_000)
        {
            f.Publish(published, 100, length: 200);
            published += 100;
            await good.When(s => s.Next == published);
        }

        Assert.InRange(published, 1, 199_999);
        Assert.Null(good.Error);
        Assert.Equal(published, good.Records);
    }

    [Fact]
    public async Task A_peer_in_plaintext_gets_an_answer_that_it_can_read()
    {
        await using var f = new RelayFixture();
        f.Start(new RelayServerOptions
        {
            Encrypt = static (socket, _) => Task.FromResult<(RelayTransport?, bool)>((Foreign(socket), true)),
        });
        var client = new EventRelayClient(new RelayClientOptions { Server = f.Server!.LocalEndPoint }, new CheckingSink());
        Assert.Equal(
            RelayClientEnd.TlsRequired,
            await client.RunAsync(TestContext.Current.CancellationToken).WaitAsync(RelayFixture.Limit, CancellationToken.None));
    }

    [Fact]
    public async Task A_handshake_that_fails_ends_the_connection_on_either_side()
    {
        await using var f = new RelayFixture();
        f.Start(new RelayServerOptions { Encrypt = static (_, _) => Task.FromResult<(RelayTransport?, bool)>((null, false)) });
        using Socket refused = f.Connect();
        Assert.Equal(0, refused.Receive(new byte[1]));
        CheckingSink sink = f.Follow(
            FromOldest, static options => options with { Encrypt = static (_, _) => Task.FromResult<RelayTransport?>(null) });
        await sink.When(static s => s.Ends.Contains(RelayClientEnd.TlsFailed));
    }

    /// <summary>A transport whose operations come from elsewhere, as those of TLS do.</summary>
    private static DelegatedRelayTransport Foreign(Socket socket)
    {
        var plain = new PlainRelayTransport(socket);
        return new DelegatedRelayTransport(
            buffer => plain.ReceiveAsync(buffer, CancellationToken.None),
            bytes => plain.SendAsync(bytes, CancellationToken.None),
            plain.Abort,
            plain.DisposeAsync);
    }

    private static byte[] Hello(string token)
    {
        byte[] bytes = Encoding.UTF8.GetBytes(token);
        byte[] frame = new byte[RelayFrame.HeaderLength + RelayFrame.HelloLength + bytes.Length];
        RelayFrame.WriteHello(frame, 0, FromOldest, bytes);
        return frame;
    }

    private static byte[] Ask(RelayFixture f, byte[] hello)
    {
        using Socket socket = f.Connect();
        socket.Send(hello);
        return Receive(socket);
    }

    private static byte[] Receive(Socket socket)
    {
        byte[] answer = new byte[64];
        int filled = 0;
        int length;
        while ((length = RelayFrame.TryRead(answer.AsSpan(0, filled), out _, out _)) == 0)
        {
            int read = socket.Receive(answer.AsSpan(filled));
            Assert.NotEqual(0, read);
            filled += read;
        }

        return answer[..length];
    }

    private static RelayStatus StatusOf(byte[] welcome) => (RelayStatus)BitConverter.ToUInt16(welcome, RelayFrame.HeaderLength);

    private static bool IsCutOff(Socket socket) => socket.Poll(TimeSpan.Zero, SelectMode.SelectRead) && socket.Available == 0;
}
