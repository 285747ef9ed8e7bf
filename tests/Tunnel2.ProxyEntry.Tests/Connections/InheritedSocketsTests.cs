using System.Globalization;
using System.Net;
using System.Net.Sockets;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Connections;

namespace Tunnel2.ProxyEntry.Tests.Connections;

public sealed class InheritedSocketsTests
{
    private readonly List<SettingsError> _errors = [];

    [Theory]
    [InlineData("public", "Public:HttpListen")]
    [InlineData("https", "Public:HttpsListen")]
    [InlineData("uplink", "Uplink:Listen")]
    [InlineData("admin", "Admin:Listen")]
    public void A_socket_takes_the_place_of_the_setting_that_its_name_says(string name, string key)
    {
        var descriptor = Listen(IPAddress.Loopback, out var port);

        using var inherited = Read(descriptor, ("LISTEN_FDNAMES", name));

        Assert.Empty(_errors);
        Assert.Equal([new($"Tunnel2:{key}", $"127.0.0.1:{port}")], inherited.Settings);
        Assert.Equal([name], inherited.Names);
        using var socket = inherited.Take(key);
        Assert.Equal(port, ((IPEndPoint)socket!.LocalEndPoint!).Port);
        Assert.Null(inherited.Take(key));
    }

    [Fact]
    public void An_address_of_IPv6_is_one_that_the_settings_can_read()
    {
        var descriptor = Listen(IPAddress.IPv6Any, out var port);

        using var inherited = Read(descriptor, ("LISTEN_FDNAMES", "public"));

        var (_, value) = Assert.Single(inherited.Settings);
        Assert.Null(SettingValues.ParseListen(value!, out var endPoint));
        Assert.Equal(new IPEndPoint(IPAddress.IPv6Any, port), endPoint);
    }

    [Theory]
    [InlineData("LISTEN_PID", null)]
    [InlineData("LISTEN_PID", "")]
    [InlineData("LISTEN_PID", "1")]
    [InlineData("LISTEN_FDS", null)]
    [InlineData("LISTEN_FDS", "0")]
    public void Without_sockets_for_this_process_there_are_none_and_nothing_is_wrong(string variable, string? value)
    {
        var descriptor = Listen(IPAddress.Loopback, out _);
        using var kept = new SafeSocketHandle(descriptor, ownsHandle: true);

        using var inherited = Read(descriptor, ("LISTEN_FDNAMES", "public"), (variable, value));

        Assert.Empty(_errors);
        Assert.Empty(inherited.Settings);
    }

    [Theory]
    [InlineData("x")]
    [InlineData("-1")]
    [InlineData("65")]
    [InlineData("99999999999999999999")]
    public void A_number_of_sockets_that_is_none_is_reported(string count)
    {
        using var inherited = Read(3, ("LISTEN_FDS", count));

        Assert.Equal("LISTEN_FDS", Assert.Single(_errors).Key);
    }

    [Theory]
    [InlineData(null)]
    [InlineData("")]
    [InlineData("unknown")]
    [InlineData("tunnel2-entry.socket")]
    [InlineData("Public")]
    public void A_name_that_says_nothing_is_reported_with_those_that_do(string? names)
    {
        var descriptor = Listen(IPAddress.Loopback, out _);
        using var kept = new SafeSocketHandle(descriptor, ownsHandle: true);

        using var inherited = Read(descriptor, ("LISTEN_FDNAMES", names));

        Assert.Contains("public, https, uplink or admin", Assert.Single(_errors).Message, StringComparison.Ordinal);
        Assert.Empty(inherited.Settings);
    }

    [Fact]
    public void Everything_that_is_wrong_is_reported_at_once()
    {
        var (first, count) = Descriptors(
            static () => Listening(IPAddress.Loopback),
            static () => Listening(IPAddress.Loopback),
            static () => new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp),
            static () => new Socket(AddressFamily.InterNetwork, SocketType.Dgram, ProtocolType.Udp));

        using var inherited = Read(first, ("LISTEN_FDS", $"{count}"), ("LISTEN_FDNAMES", "public:public:uplink:admin"));

        Assert.Equal(["public"], inherited.Names);
        Assert.Collection(
            _errors,
            static error => Assert.Contains("there is another of this name", error.Message, StringComparison.Ordinal),
            static error => Assert.Contains("is not a TCP socket that listens", error.Message, StringComparison.Ordinal),
            static error => Assert.Contains("is not a TCP socket that listens", error.Message, StringComparison.Ordinal));
    }

    private static Socket Listening(IPAddress address)
    {
        var socket = new Socket(address.AddressFamily, SocketType.Stream, ProtocolType.Tcp);
        socket.Bind(new IPEndPoint(address, 0));
        socket.Listen(1);
        return socket;
    }

    /// <summary>A listening socket that nothing of .NET owns.</summary>
    private static int Listen(IPAddress address, out int port)
    {
        var number = 0;
        var (descriptor, _) = Descriptors(() =>
        {
            var socket = Listening(address);
            number = ((IPEndPoint)socket.LocalEndPoint!).Port;
            return socket;
        });
        port = number;
        return descriptor;
    }

    /// <summary>Descriptors of sockets one after the other, as a process finds them that they are handed to.</summary>
    private static (int First, int Count) Descriptors(params Func<Socket>[] makers)
    {
        var first = Interlocked.Add(ref _next, 16);
        for (var i = 0; i < makers.Length; i++)
        {
            using var socket = makers[i]();
            Assert.Equal(first + i, Duplicate((int)socket.Handle, first + i));
        }

        return (first, makers.Length);
    }

    private InheritedSockets Read(int first, params (string Name, string? Value)[] environment)
    {
        var variables = new Dictionary<string, string?>
        {
            ["LISTEN_PID"] = Environment.ProcessId.ToString(CultureInfo.InvariantCulture),
            ["LISTEN_FDS"] = "1",
        };
        foreach (var (name, value) in environment)
        {
            variables[name] = value;
        }

        return InheritedSockets.Read(name => variables.GetValueOrDefault(name), Environment.ProcessId, _errors, first);
    }

    private static int _next = 500;

    [System.Runtime.InteropServices.DllImport("libc", EntryPoint = "dup2", SetLastError = true)]
    [System.Runtime.InteropServices.DefaultDllImportSearchPaths(System.Runtime.InteropServices.DllImportSearchPath.SafeDirectories)]
    private static extern int Duplicate(int descriptor, int wanted);
}
