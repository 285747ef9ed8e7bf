using System.Text;
using Tunnel2.Multiplexing.Tests.InMemory;

namespace Tunnel2.Client.Tests.InMemory;

/// <summary>One connection to a backend, at the backend's end: it does what the test says, and nothing by itself.</summary>
internal sealed class ScriptedBackend
{
    private readonly InMemoryTransport _own;
    private readonly StringBuilder _read = new();

    public ScriptedBackend(InMemoryTransport own, BackendTransport agents)
    {
        _own = own;
        Agents = agents;
    }

    /// <summary>The agent's end.</summary>
    public BackendTransport Agents { get; }

    /// <summary>Whether the agent has ended the connection: by a reset, or by closing it.</summary>
    public bool IsEnded => !_own.Incoming.IsOpen;

    /// <summary>Reads a request's head.</summary>
    public async Task<string> ReadHeadAsync()
    {
        int end;
        while ((end = _read.ToString().IndexOf("\r\n\r\n", StringComparison.Ordinal)) < 0)
        {
            Assert.True(await FillAsync(), $"The agent closed within a head: {_read}");
        }

        return Take(end + 4);
    }

    /// <summary>Reads so many bytes.</summary>
    public async Task<string> ReadAsync(int count)
    {
        while (_read.Length < count)
        {
            Assert.True(await FillAsync(), $"The agent closed behind: {_read}");
        }

        return Take(count);
    }

    /// <summary>Reads to the end of what the agent sends.</summary>
    /// <returns>What was left, and whether the end came in order.</returns>
    public async Task<(string Text, bool InOrder)> ReadToEndAsync()
    {
        try
        {
            while (await FillAsync())
            {
            }
        }
        catch (IOException)
        {
            return (Take(_read.Length), false);
        }

        return (Take(_read.Length), true);
    }

    /// <summary>Sends something; a text of Latin-1.</summary>
    public async Task SendAsync(string text) => await _own.SendAsync(Encoding.Latin1.GetBytes(text));

    /// <summary>Ends its direction in order.</summary>
    public void Close() => _own.ShutdownSend();

    /// <summary>Ends the connection by a reset.</summary>
    public void Reset() => _own.Abort();

    private async Task<bool> FillAsync()
    {
        var buffer = new byte[16 * 1024];
        var count = await _own.ReceiveAsync(buffer);
        _read.Append(Encoding.Latin1.GetString(buffer, 0, count));
        return count > 0;
    }

    private string Take(int count)
    {
        var text = _read.ToString(0, count);
        _read.Remove(0, count);
        return text;
    }
}
