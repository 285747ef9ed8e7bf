using System.Net.Sockets;
using System.Text;

namespace Tunnel2.Transport.Tests.Supervision;

/// <summary>A service manager that keeps what it is sent.</summary>
internal sealed class TestManager : IDisposable
{
    private static readonly TimeSpan _limit = TimeSpan.FromSeconds(20);

    private readonly Socket _socket = new(AddressFamily.Unix, SocketType.Dgram, ProtocolType.Unspecified);

    /// <param name="address">Where it listens: a path, or with <c>@</c> a name that is no file.</param>
    public TestManager(string address)
    {
        Address = address;
        _socket.Bind(new UnixDomainSocketEndPoint(address[0] == '@' ? "\0" + address[1..] : address));
    }

    public string Address { get; }

    /// <summary>Whether there is a message that was not taken yet.</summary>
    public bool HasMessage => _socket.Available > 0;

    /// <summary>The next message.</summary>
    public async Task<string> ReceiveAsync()
    {
        using var limit = new CancellationTokenSource(_limit);
        var bytes = new byte[4096];
        var length = await _socket.ReceiveAsync(bytes, SocketFlags.None, limit.Token);
        return Encoding.UTF8.GetString(bytes, 0, length);
    }

    public void Dispose()
    {
        _socket.Dispose();
        if (Address[0] != '@')
        {
            File.Delete(Address);
        }
    }
}
