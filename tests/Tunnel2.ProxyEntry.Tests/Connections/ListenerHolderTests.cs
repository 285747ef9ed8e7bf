using System.Net;
using System.Net.Sockets;
using System.Text;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Connections;
using Tunnel2.TestUtilities;
using Libc = Tunnel2.Ports.Libc;

namespace Tunnel2.ProxyEntry.Tests.Connections;

/// <summary>Against <c>tunnel2-ports</c> itself, and against what only looks like it.</summary>
public sealed class ListenerHolderTests : IDisposable
{
    private static readonly TimeSpan _short = TimeSpan.FromSeconds(1);

    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("tunnel2-holder-");
    private readonly List<SettingsError> _errors = [];
    private readonly List<string> _waits = [];
    private readonly List<Socket> _open = [];

    private static IPEndPoint Free => new(IPAddress.Loopback, 0);

    private string SocketPath => Path.Combine(_folder.FullName, "ports.sock");

    public void Dispose()
    {
        _open.ForEach(static socket => socket.Dispose());
        _folder.Delete(recursive: true);
    }

    [Fact]
    public async Task Its_sockets_take_the_places_of_the_settings_that_their_names_say()
    {
        var options = new Ports.PortsOptions(
            SocketPath, [("public", Free), ("https", new IPEndPoint(IPAddress.IPv6Any, 0)), ("uplink", Free), ("admin", Free)]);
        var server = Ports.HandoverServer.Start(options, static _ => { });
        var running = Task.Run(server.Run, TestContext.Current.CancellationToken);
        using var holder = await ConnectAsync();
        using var inherited = InheritedSockets.None();

        inherited.Add(holder, _errors);

        Assert.Empty(_errors);
        Assert.Equal(["public", "https", "uplink", "admin"], inherited.Names);
        Assert.Equal(SocketPath, inherited.Holders);
        Assert.Equal(
            server.Listeners.Select(static listener => listener.EndPoint.ToString()),
            new[] { "Public:HttpListen", "Public:HttpsListen", "Uplink:Listen", "Admin:Listen" }.Select(
                key => inherited.Settings.Single(pair => pair.Key == $"Tunnel2:{key}").Value));
        Assert.Empty(_waits);
        Assert.False(holder.Ended.IsCompleted);

        server.Stop();
        await holder.Ended.WaitAsync(TimeSpan.FromSeconds(30), TestContext.Current.CancellationToken);
        await running;
    }

    [Fact]
    public async Task A_start_waits_for_a_holder_that_is_not_there_yet()
    {
        var waiting = new TaskCompletionSource<string>(TaskCreationOptions.RunContinuationsAsynchronously);
        var connecting = ListenerHolder.ConnectAsync(
            SocketPath, TimeSpan.FromSeconds(30), TimeProvider.System, line => waiting.TrySetResult(line));

        Assert.Contains(
            $"no listening sockets at {SocketPath} yet: there is nothing; waiting up to 30 s",
            await waiting.Task,
            StringComparison.Ordinal);
        var door = Listen();
        using var peer = await door.AcceptAsync();
        using var listener = Listener();
        Assert.True(Libc.TrySend(peer, "tunnel2-ports/1 public\n"u8, [(int)listener.Handle]));

        using var holder = await connecting;
        Assert.Equal(["public"], holder.TakeDescriptors().Select(static given => given.Name));
    }

    [Fact]
    public async Task A_holder_that_does_not_come_is_reported_after_a_bounded_wait()
    {
        var failure = await Assert.ThrowsAsync<ListenersUnavailableException>(WaitInVainAsync);

        Assert.Equal(
            $"no listening sockets from {SocketPath} (Tunnel2:ListenersFrom): within 1 s: there is nothing. Does tunnel2-ports run?",
            failure.Message);
        Assert.Single(_waits);
    }

    [Fact]
    public async Task The_path_of_a_holder_that_is_gone_is_reported()
    {
        using (var gone = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified))
        {
            gone.Bind(new UnixDomainSocketEndPoint(SocketPath + "x"));
            File.Move(SocketPath + "x", SocketPath);
        }

        var failure = await Assert.ThrowsAsync<ListenersUnavailableException>(WaitInVainAsync);

        Assert.Contains("Connection refused. Does tunnel2-ports run?", failure.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_holder_that_does_not_answer_is_reported()
    {
        Listen();

        var failure = await Assert.ThrowsAsync<ListenersUnavailableException>(WaitInVainAsync);

        Assert.Contains("it does not answer", failure.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task One_that_ends_before_it_answers_is_asked_again()
    {
        var door = Listen();
        using var listener = Listener();
        var connecting = ConnectAsync();

        (await door.AcceptAsync()).Dispose();
        using var second = await door.AcceptAsync();
        Libc.TrySend(second, "tunnel2-ports/1 uplink\n"u8, [(int)listener.Handle]);

        using var holder = await connecting;
        Assert.Equal("uplink", Assert.Single(holder.TakeDescriptors()).Name);
        Assert.Contains("it ended the connection", Assert.Single(_waits), StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_path_that_is_none_is_reported_at_once()
    {
        var failure = await Assert.ThrowsAsync<ListenersUnavailableException>(() =>
            ListenerHolder.ConnectAsync(new string('x', 300), TimeSpan.FromHours(1), TimeProvider.System, _waits.Add));

        Assert.Contains("(Tunnel2:ListenersFrom): ", failure.Message, StringComparison.Ordinal);
        Assert.Empty(_waits);
    }

    [Theory]
    [InlineData("tunnel2-ports/1 public\n", 0, "the answer \"tunnel2-ports/1 public\" came with 0 sockets")]
    [InlineData("tunnel2-ports/1 public\n", 2, "the answer \"tunnel2-ports/1 public\" came with 2 sockets")]
    [InlineData("tunnel2-ports/1 public uplink\n", 1, "the answer \"tunnel2-ports/1 public uplink\" came with 1 sockets")]
    [InlineData("tunnel2-ports/1 public uplink", 2, "the answer \"tunnel2-ports/1 public uplink\" came with 2 sockets")]
    [InlineData("tunnel2-ports/1 a b c d e f g h\n", 8, "came with more than 5 sockets")]
    [InlineData("tunnel2-ports/2 public\n", 1, "the answer was \"tunnel2-ports/2 public\"")]
    [InlineData(
        "refused: its sockets are for processes of user 7\n", 0, "the answer was \"refused: its sockets are for processes of user 7\"")]
    [InlineData("SSH-2.0-\u0001\u001b[31m\r\n", 0, "the answer was \"SSH-2.0-")]
    [InlineData("\n", 1, "the answer was \"\"")]
    public async Task An_answer_that_is_none_is_reported_at_once_and_its_sockets_are_closed(string words, int sockets, string expected)
    {
        var door = Listen();
        var given = Enumerable.Range(0, sockets).Select(_ => Listener()).ToList();
        var connecting = ConnectAsync(TimeSpan.FromHours(1));
        using (var peer = await door.AcceptAsync())
        {
            Assert.True(Libc.TrySend(peer, Encoding.ASCII.GetBytes(words), [.. given.Select(static socket => (int)socket.Handle)]));
        }

        var failure = await Assert.ThrowsAsync<ListenersUnavailableException>(() => connecting);

        Assert.Contains(expected, failure.Message, StringComparison.Ordinal);
        Assert.DoesNotContain('\u001b', failure.Message);
        Assert.All(given, static socket => Assert.Equal(1, DescriptorsOf(socket)));
    }

    [Fact]
    public async Task Names_and_sockets_that_are_of_no_use_are_mistakes_of_the_setting()
    {
        var door = Listen();
        using var listener = Listener();
        using var other = Listener();
        using var deaf = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        using var unix = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        var connecting = ConnectAsync();
        using var peer = await door.AcceptAsync();
        Libc.TrySend(
            peer,
            "tunnel2-ports/1 public public web admin uplink\n"u8,
            [.. new[] { listener, other, other, deaf, unix }.Select(static socket => (int)socket.Handle)]);
        using var holder = await connecting;
        using var inherited = InheritedSockets.None();

        inherited.Add(holder, _errors);

        Assert.Equal(["public"], inherited.Names);
        Assert.All(_errors, static error => Assert.Equal("Tunnel2:ListenersFrom", error.Key));
        Assert.Collection(
            _errors,
            static error => Assert.EndsWith("(\"public\"): there is another of this name.", error.Message, StringComparison.Ordinal),
            static error =>
                Assert.EndsWith("(\"web\"): a socket is called public, https, uplink or admin.", error.Message, StringComparison.Ordinal),
            static error => Assert.EndsWith("(\"admin\"): is not a TCP socket that listens.", error.Message, StringComparison.Ordinal),
            static error => Assert.EndsWith("(\"uplink\"): is not a TCP socket that listens.", error.Message, StringComparison.Ordinal));
    }

    [Fact]
    public async Task A_word_too_many_is_not_its_end()
    {
        var door = Listen();
        using var listener = Listener();
        var connecting = ConnectAsync();
        var peer = await door.AcceptAsync();
        Libc.TrySend(peer, "tunnel2-ports/1 public\n"u8, [(int)listener.Handle]);
        using var holder = await connecting;

        // More than the connection holds unread: when this returns, only the rest of it is not read.
        await peer.SendAsync(new byte[1024 * 1024]);
        Assert.False(holder.Ended.IsCompleted);

        peer.Dispose();
        await holder.Ended.WaitAsync(TimeSpan.FromSeconds(30), TestContext.Current.CancellationToken);
    }

    /// <summary>
    /// Those of this process only. A child of another test may have a copy for a while, because received descriptors are not closed on
    /// exec: that the listener does not end at once would show nothing.
    /// </summary>
    private static int DescriptorsOf(Socket socket)
    {
        var target = new FileInfo($"/proc/self/fd/{socket.Handle}").LinkTarget;
        Assert.NotNull(target);
        return new DirectoryInfo("/proc/self/fd").EnumerateFileSystemInfos().Count(descriptor => descriptor.LinkTarget == target);
    }

    private Task<ListenerHolder> ConnectAsync(TimeSpan? patience = null) =>
        ListenerHolder.ConnectAsync(SocketPath, patience ?? TimeSpan.FromSeconds(30), TimeProvider.System, _waits.Add);

    /// <summary>By a clock that jumps over each wait: the machine's pace plays no part in what is tried and said.</summary>
    private Task<ListenerHolder> WaitInVainAsync() =>
        ListenerHolder.ConnectAsync(SocketPath, _short, new ManualTimeProvider { SkipsWaits = true }, _waits.Add);

    private Socket Listen()
    {
        var door = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        _open.Add(door);
        door.Bind(new UnixDomainSocketEndPoint(SocketPath));
        door.Listen();
        return door;
    }

    private Socket Listener()
    {
        var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        _open.Add(socket);
        socket.Bind(Free);
        socket.Listen();
        return socket;
    }
}
