using System.Net.Sockets;
using System.Text.Json;

namespace Tunnel2.Client.States;

/// <summary>Asks this user's running agents what they do.</summary>
internal static class StatusReader
{
    private const int MostAgents = 256;
    private const int MostBytes = 32 * 1024 * 1024;

    private static readonly TimeSpan _patience = TimeSpan.FromSeconds(3);

    /// <summary>Asks all of them. An agent that does not answer in time is left out; what an ended one has left is removed.</summary>
    /// <exception cref="OperationCanceledException"><paramref name="stop"/>.</exception>
    public static async Task<IReadOnlyList<AgentReport>> ReadAsync(
        Func<string, string?> environment, TimeProvider time, CancellationToken stop)
    {
        if (StatusFolder.Find(environment) is not { } folder || !Directory.Exists(folder))
        {
            return [];
        }

        var agents = new List<AgentReport>();
        foreach (string path in Directory.EnumerateFiles(folder, "*.sock").Take(MostAgents).Order(StringComparer.Ordinal))
        {
            using var limit = new CancellationTokenSource(_patience, time);
            using var either = CancellationTokenSource.CreateLinkedTokenSource(limit.Token, stop);
            if (await TryReadAsync(path, either.Token) is { } agent)
            {
                agents.Add(agent);
            }
        }

        stop.ThrowIfCancellationRequested();
        return agents;
    }

    private static async Task<AgentReport?> TryReadAsync(string path, CancellationToken cancellationToken)
    {
        try
        {
            using var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
            await socket.ConnectAsync(new UnixDomainSocketEndPoint(path), cancellationToken);
            using var text = new MemoryStream();
            byte[] buffer = new byte[16 * 1024];
            while (await socket.ReceiveAsync(buffer, SocketFlags.None, cancellationToken) is > 0 and var count)
            {
                text.Write(buffer, 0, count);
                if (text.Length > MostBytes)
                {
                    return null;
                }
            }

            return AgentReport.Read(text.GetBuffer().AsMemory(0, (int)text.Length));
        }
        catch (SocketException exception) when (exception.SocketErrorCode == SocketError.ConnectionRefused)
        {
            Remove(path);
            return null;
        }
        catch (Exception exception) when (exception is SocketException or OperationCanceledException or JsonException or ArgumentException)
        {
            return null;
        }
    }

    private static void Remove(string path)
    {
        try
        {
            File.Delete(path);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            // It stays, and is passed over again.
        }
    }
}
