using System.Diagnostics;
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using Grpc.Core;
using Grpc.Net.Client;
using Tunnel2.FunctionalTests.Grpc;

namespace Tunnel2.GrpcLoad;

/// <summary>Calls over a few connections, each of which has its share of them. The first second is a warm-up.</summary>
internal sealed class CallLoad : IDisposable
{
    private const int Connections = 5;
    private const int Length = 1024;

    private static readonly TimeSpan _warmUp = TimeSpan.FromSeconds(1);

    private readonly GrpcChannel[] _channels;
    private readonly int _calls;
    private readonly TimeSpan _duration;
    private readonly byte[] _message = new byte[Length];
    private readonly List<long>[] _times;
    private long _begin;
    private long _end;

    /// <param name="port">The port of this machine.</param>
    /// <param name="authority">The host that requests name.</param>
    /// <param name="calls">How many at once.</param>
    /// <param name="duration">How long, without the warm-up.</param>
    public CallLoad(int port, string authority, int calls, TimeSpan duration)
    {
        _calls = calls;
        _duration = duration;
        _times = [.. Enumerable.Range(0, calls).Select(static _ => new List<long>(100_000))];
        _channels = [.. Enumerable.Range(0, Math.Min(Connections, calls)).Select(_ => Connect(port, authority))];
    }

    /// <summary>Runs the load.</summary>
    /// <returns>Messages per second, p50 and p99 in milliseconds, messages.</returns>
    /// <exception cref="RpcException">A call failed.</exception>
    public async Task<string> RunAsync(string kind)
    {
        _begin = Stopwatch.GetTimestamp() + (long)(_warmUp.TotalSeconds * Stopwatch.Frequency);
        _end = _begin + (long)(_duration.TotalSeconds * Stopwatch.Frequency);
        await Task.WhenAll(Enumerable.Range(0, _calls).Select(index =>
        {
            var invoker = _channels[index % _channels.Length].CreateCallInvoker();
            return kind switch
            {
                "unary" => UnaryAsync(invoker, _times[index]),
                "both" => BothAsync(invoker, _times[index]),
                _ => DownAsync(invoker, _times[index]),
            };
        })).ConfigureAwait(false);
        var times = _times.SelectMany(static times => times).Order().ToArray();
        if (times.Length == 0)
        {
            throw new InvalidOperationException("No message came back in time.");
        }

        return string.Create(
            CultureInfo.InvariantCulture,
            $"{times.Length / _duration.TotalSeconds:F0} {Quantile(times, 0.5):F2} {Quantile(times, 0.99):F2} {times.Length}");
    }

    /// <inheritdoc/>
    public void Dispose() => Array.ForEach(_channels, static channel => channel.Dispose());

    private static double Quantile(long[] times, double part) =>
        Stopwatch.GetElapsedTime(0, times[(int)(part * (times.Length - 1))]).TotalMilliseconds;

    private static GrpcChannel Connect(int port, string authority) => GrpcChannel.ForAddress(
        $"http://{authority}:{port}",
        new GrpcChannelOptions
        {
            DisposeHttpClient = true,
            HttpHandler = new SocketsHttpHandler
            {
                UseProxy = false,
                ConnectCallback = async (_, cancellationToken) =>
                {
                    var socket = new Socket(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
                    await socket.ConnectAsync(new IPEndPoint(IPAddress.Loopback, port), cancellationToken).ConfigureAwait(false);
                    return new NetworkStream(socket, ownsSocket: true);
                },
            },
        });

    private async Task UnaryAsync(CallInvoker invoker, List<long> times)
    {
        for (long sent; (sent = Stopwatch.GetTimestamp()) < _end;)
        {
            using var call = invoker.AsyncUnaryCall(GrpcEchoBase.UnaryMethod, null, default, _message);
            Count(times, sent, await call);
        }
    }

    private async Task BothAsync(CallInvoker invoker, List<long> times)
    {
        using var call = invoker.AsyncDuplexStreamingCall(GrpcEchoBase.BothMethod, null, default);
        for (long sent; (sent = Stopwatch.GetTimestamp()) < _end;)
        {
            await call.RequestStream.WriteAsync(_message).ConfigureAwait(false);
            if (!await call.ResponseStream.MoveNext(CancellationToken.None).ConfigureAwait(false))
            {
                throw new InvalidOperationException("The stream ended.");
            }

            Count(times, sent, call.ResponseStream.Current);
        }

        await call.RequestStream.CompleteAsync().ConfigureAwait(false);
        while (await call.ResponseStream.MoveNext(CancellationToken.None).ConfigureAwait(false))
        {
            // Nothing more is expected.
        }
    }

    private async Task DownAsync(CallInvoker invoker, List<long> times)
    {
        using var call = invoker.AsyncServerStreamingCall(GrpcEchoBase.DownMethod, null, default, _message);
        while (Stopwatch.GetTimestamp() is var sent && sent < _end)
        {
            if (!await call.ResponseStream.MoveNext(CancellationToken.None).ConfigureAwait(false))
            {
                throw new InvalidOperationException("The stream ended.");
            }

            Count(times, sent, call.ResponseStream.Current);
        }
    }

    private void Count(List<long> times, long sent, byte[] message)
    {
        if (message.Length != Length)
        {
            throw new InvalidOperationException("A message came back changed.");
        }

        if (sent >= _begin)
        {
            times.Add(Stopwatch.GetTimestamp() - sent);
        }
    }
}
