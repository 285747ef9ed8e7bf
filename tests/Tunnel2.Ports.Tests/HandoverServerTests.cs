using System.Collections.Concurrent;
using System.Net;
using System.Net.Sockets;
using System.Text;
using Tunnel2.Transport.Sockets;

namespace Tunnel2.Ports.Tests;

public sealed class HandoverServerTests : IDisposable
{
    private const int MostTakers = 16;

    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("tunnel2-ports-");
    private readonly ConcurrentQueue<string> _said = new();
    private readonly List<Socket> _open = [];
    private HandoverServer? _server;
    private Task _running = Task.CompletedTask;

    private string SocketPath => Path.Combine(_folder.FullName, "ports.sock");

    public void Dispose()
    {
        Stop();
        _open.ForEach(static socket => socket.Dispose());
        _folder.Delete(recursive: true);
    }

    [Fact]
    public void A_process_that_connects_gets_the_listening_sockets_and_who_waits_in_them()
    {
        Start("public", "uplink");
        using var visitor = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        visitor.Connect(_server!.Listeners[0].EndPoint);

        var (words, sockets) = Take();

        Assert.Equal("tunnel2-ports/1 public uplink\n", words);
        Assert.Equal(
            _server.Listeners.Select(static listener => listener.EndPoint), sockets.Select(static socket => socket.LocalEndPoint!));
        using var accepted = sockets[0].Accept();
        Assert.Equal(visitor.LocalEndPoint, accepted.RemoteEndPoint);
    }

    [Fact]
    public void The_sockets_outlive_those_who_had_them()
    {
        Start("public");
        Take().Sockets[0].Dispose();
        using var visitor = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        visitor.Connect(_server!.Listeners[0].EndPoint);

        using var accepted = Take().Sockets[0].Accept();

        Assert.Equal(visitor.LocalEndPoint, accepted.RemoteEndPoint);
    }

    [Fact]
    public void Only_the_owner_may_connect()
    {
        Start("public");

        Assert.Equal(
            UnixFileMode.UserRead | UnixFileMode.UserWrite, OperatingSystem.IsWindows() ? default : File.GetUnixFileMode(SocketPath));
    }

    [Fact]
    public void A_process_of_another_user_gets_nothing_but_the_reason()
    {
        Start(["public"], user: Libc.EffectiveUser() + 1);

        var (words, sockets) = Take();

        Assert.Equal(
            $"refused: its sockets are for processes of user {Libc.EffectiveUser() + 1}, and this is one of user {Libc.EffectiveUser()}\n",
            words);
        Assert.Empty(sockets);
    }

    [Fact]
    public void One_who_talks_is_let_go_and_one_who_leaves_at_once_harms_no_other()
    {
        Start("public");
        var garbage = new byte[100_000];
        Random.Shared.NextBytes(garbage);
        for (var round = 0; round < 3 * MostTakers; round++)
        {
            // Gone before it is looked at, or in the middle of its words.
            using var peer = Connect();
            peer.SendTimeout = 10_000;
            if (round % 2 == 0)
            {
                try
                {
                    peer.Send(garbage);
                }
                catch (SocketException)
                {
                    // It was let go while it talked.
                }
            }
        }

        var talker = Connect();
        Assert.Equal("tunnel2-ports/1 public\n", Receive(talker).Words);
        talker.Send("hello"u8);
        Assert.False(IsStillThere(talker));

        Assert.Single(Take().Sockets);
    }

    [Fact]
    public void Places_of_those_who_have_left_are_free_again_and_there_are_so_many()
    {
        Start("public");
        var first = Connect();
        Receive(first);
        for (var taker = 1; taker < MostTakers; taker++)
        {
            Assert.Single(Take().Sockets);
        }

        var (words, sockets) = Take();
        Assert.Equal("refused: 16 processes have its sockets already\n", words);
        Assert.Empty(sockets);

        // The thread sees the one leave before it sees the next one come, or in the same look: then that one is refused, and no other.
        first.Dispose();
        if (Take().Sockets.Count == 0)
        {
            Assert.Single(Take().Sockets);
        }
    }

    [Fact]
    public void Its_end_is_seen_by_those_who_have_the_sockets_and_leaves_no_path()
    {
        Start("public");
        var taker = Connect();
        Receive(taker);

        Stop();

        Assert.False(IsStillThere(taker));
        Assert.False(File.Exists(SocketPath));
    }

    [Fact]
    public void The_path_of_one_that_was_killed_is_taken_over()
    {
        using (var killed = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified))
        {
            killed.Bind(new UnixDomainSocketEndPoint(SocketPath + "x"));
            killed.Listen();

            // .NET removes the path of its own socket; the system does not.
            File.Move(SocketPath + "x", SocketPath);
        }

        Assert.True(File.Exists(SocketPath));
        Start("public");

        Assert.Single(Take().Sockets);
    }

    [Fact]
    public void The_path_of_one_that_runs_is_left_to_it()
    {
        Start("public");
        using var before = Take().Sockets[0];

        var failure = Assert.Throws<IOException>(() => HandoverServer.Start(Options("uplink"), _said.Enqueue));

        Assert.Contains("another process gives sockets away there", failure.Message, StringComparison.Ordinal);
        Assert.Single(Take().Sockets);
    }

    [Fact]
    public void A_file_that_is_no_socket_is_left_alone()
    {
        File.WriteAllText(SocketPath, "precious");

        var failure = Assert.Throws<IOException>(() => HandoverServer.Start(Options("public"), _said.Enqueue));

        Assert.Contains("not a socket", failure.Message, StringComparison.Ordinal);
        Assert.Equal("precious", File.ReadAllText(SocketPath));
    }

    [Theory]
    [InlineData("missing/ports.sock", "there is no folder")]
    [InlineData(
        "a-name-that-is-much-too-long-for-the-address-of-a-unix-socket-which-has-room-for-some-hundred-characters-and-no-more",
        "Cannot give the sockets away")]
    public void A_path_that_is_not_available_is_reported(string path, string expected)
    {
        var options = Options("public") with { Path = Path.Combine(_folder.FullName, path) };

        Assert.Contains(
            expected, Assert.Throws<IOException>(() => HandoverServer.Start(options, _said.Enqueue)).Message, StringComparison.Ordinal);
    }

    [Fact]
    public void An_address_that_is_taken_is_reported_and_nothing_is_held()
    {
        Start("public");
        var taken = (IPEndPoint)_server!.Listeners[0].EndPoint;

        var failure = Assert.Throws<IOException>(
            () => HandoverServer.Start(new PortsOptions(SocketPath + "2", [("public", taken)]), _said.Enqueue));

        Assert.StartsWith($"Failed to bind to address {taken} (public): ", failure.Message, StringComparison.Ordinal);
        Assert.False(File.Exists(SocketPath + "2"));
    }

    [Fact]
    public void All_addresses_are_those_of_IPv4_as_well()
    {
        Assert.SkipUnless(Socket.OSSupportsIPv6, "Needs IPv6.");
        using var socket = HeldListener.Start("public", new IPEndPoint(IPAddress.IPv6Any, 0)).Socket;

        using var visitor = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        visitor.Connect(new IPEndPoint(IPAddress.Loopback, ((IPEndPoint)socket.LocalEndPoint!).Port));

        Assert.True(visitor.Connected);
    }

    private void Start(params string[] names) => Start(names, user: null);

    private void Start(string[] names, uint? user)
    {
        var server = HandoverServer.Start(Options(names), _said.Enqueue, user);
        _server = server;
        _running = Task.Factory.StartNew(server.Run, CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default);
    }

    private void Stop()
    {
        if (!_running.IsCompleted)
        {
            _server!.Stop();
        }

        Assert.True(_running.Wait(TimeSpan.FromSeconds(30)), "it did not stop");
    }

    private PortsOptions Options(params string[] names) =>
        new(SocketPath, [.. names.Select(static name => (name, new IPEndPoint(IPAddress.Loopback, 0)))]);

    private (string Words, IReadOnlyList<Socket> Sockets) Take() => Receive(Connect());

    private Socket Connect()
    {
        var peer = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        _open.Add(peer);
        peer.Connect(new UnixDomainSocketEndPoint(SocketPath));
        return peer;
    }

    private (string Words, IReadOnlyList<Socket> Sockets) Receive(Socket peer)
    {
        Assert.True(peer.Poll(TimeSpan.FromSeconds(30), SelectMode.SelectRead), "no answer");
        var bytes = new byte[256];
        var descriptors = new int[8];
        var (length, count, isWhole) = DescriptorMessage.Receive(peer, bytes, descriptors);
        Assert.True(isWhole);
        var sockets = descriptors[..count]
            .Select(static descriptor => new Socket(new SafeSocketHandle(descriptor, ownsHandle: true)))
            .ToList();
        _open.AddRange(sockets);
        return (Encoding.ASCII.GetString(bytes, 0, length), sockets);
    }

    /// <summary>Waits for what comes next: only the end ever does.</summary>
    private static bool IsStillThere(Socket peer)
    {
        Assert.True(peer.Poll(TimeSpan.FromSeconds(30), SelectMode.SelectRead), "it neither spoke nor ended");
        try
        {
            return peer.Receive(new byte[1]) > 0;
        }
        catch (SocketException)
        {
            return false;
        }
    }
}
