using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Pools;

/// <summary>
/// A service that says its name: to each request, or for an upgrade to each byte. A request to <c>/wait</c> is answered when it may be.
/// </summary>
internal sealed class NamedService : IAsyncDisposable
{
    private readonly RawTcpServer _server;
    private readonly string _name;
    private volatile bool _isWell = true;
    private int _checks;
    private int _isOver;

    public NamedService(string name)
    {
        _name = name;
        _server = RawTcpServer.Start(ServeAsync);
    }

    public int Port => _server.Port;

    /// <summary>What its path for checks answers.</summary>
    public bool IsWell
    {
        get => _isWell;
        set => _isWell = value;
    }

    /// <summary>How often it was checked.</summary>
    public int Checks => Volatile.Read(ref _checks);

    /// <summary>Requests that wait.</summary>
    public AsyncCounter Waiting { get; } = new("requests that wait");

    /// <summary>The requests that wait may be answered.</summary>
    public WaitSignal MayAnswer { get; } = new("the service may answer");

    /// <summary>Ends it; once more it does nothing.</summary>
    public async ValueTask DisposeAsync()
    {
        MayAnswer.Set();
        if (Interlocked.Exchange(ref _isOver, 1) == 0)
        {
            await _server.DisposeAsync();
        }
    }

    private async Task ServeAsync(RawConnection connection)
    {
        while (true)
        {
            var head = await connection.ReadHeadAsync();
            if (head["Upgrade"] is not null)
            {
                await connection.WriteAsync("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: names\r\n\r\n");
                while (true)
                {
                    await connection.ReadExactlyAsync(1);
                    await connection.WriteAsync(_name);
                }
            }

            if (head.Target == "/wait")
            {
                Waiting.Increment();
                await MayAnswer.WaitAsync();
            }

            var isCheck = head.Target == "/check";
            if (isCheck)
            {
                Interlocked.Increment(ref _checks);
            }

            await connection.WriteAsync(
                $"HTTP/1.1 {(isCheck && !IsWell ? "503 Not Now" : "200 OK")}\r\nContent-Length: {_name.Length}\r\n\r\n{_name}");
        }
    }
}
