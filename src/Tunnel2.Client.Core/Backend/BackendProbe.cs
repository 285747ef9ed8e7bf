using System.Diagnostics.CodeAnalysis;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Cryptography.X509Certificates;
using System.Text;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Multiplexing.Transports;
using Tunnel2.Protocol.Errors;
using Tunnel2.Transport.Tls;

namespace Tunnel2.Client.Core.Backend;

/// <summary>
/// Finds out what a backend speaks that closed a new connection without an answer: many services that want TLS, HTTP/2 or a certificate do
/// just that. It asks by connections of its own, which do nothing, at most every half minute, and only the one backend of the agent's
/// options. Thread-safe.
/// </summary>
internal sealed class BackendProbe
{
    /// <summary>Bytes of an answer that say what it is.</summary>
    private const int Enough = 9;

    /// <summary>For each connection: one that waits for more is no answer.</summary>
    private static readonly TimeSpan _limit = TimeSpan.FromSeconds(3);

    private static readonly TimeSpan _validity = TimeSpan.FromSeconds(30);

    private readonly BackendTarget _target;
    private readonly BackendConnector _connector;
    private readonly TimeProvider _timeProvider;
    private readonly Lock _gate = new();
    private Task<StreamResetDetail>? _last;
    private long _asked;
    private volatile bool _wasAskedForCertificate;

    public BackendProbe(BackendTarget target, BufferPool buffers, TimeProvider timeProvider)
    {
        _target = target;
        _connector = new BackendConnector(target, buffers);
        _timeProvider = timeProvider;
    }

    /// <summary>The client's side of HTTP/2 (RFC 9113 section 3.4) with an empty SETTINGS frame.</summary>
    private static ReadOnlySpan<byte> Preface => "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\u0004\0\0\0\0\0"u8;

    /// <summary>Asks, or returns the answer of a moment ago.</summary>
    /// <returns><see cref="StreamResetDetail.ClosedBeforeResponse"/> where nothing more can be said.</returns>
    public Task<StreamResetDetail> AskAsync()
    {
        lock (_gate)
        {
            if (_last is null || (_last.IsCompleted && _timeProvider.GetElapsedTime(_asked) > _validity))
            {
                _asked = _timeProvider.GetTimestamp();
                _last = Task.Run(LookAsync);
            }

            return _last;
        }
    }

    private async Task<StreamResetDetail> LookAsync()
    {
        if (!_target.IsHttps && await AnswersTlsAsync().ConfigureAwait(false))
        {
            return StreamResetDetail.SpeaksTls;
        }

        _wasAskedForCertificate = false;
        var speaksHttp2 = FirstBytes.AreHttp2(await ExchangeAsync(Preface.ToArray(), SslApplicationProtocol.Http2).ConfigureAwait(false));
        if (!speaksHttp2 && !_target.IsHttps)
        {
            return StreamResetDetail.ClosedBeforeResponse;
        }

        // A backend that answers HTTP/1.1 as well has closed for a reason of its own.
        var answer = await ExchangeAsync(
            Encoding.ASCII.GetBytes($"OPTIONS * HTTP/1.1\r\nHost: {_target.HostHeader}\r\nConnection: close\r\n\r\n"),
            SslApplicationProtocol.Http11).ConfigureAwait(false);
        return answer.AsSpan().StartsWith("HTTP/1."u8) ? StreamResetDetail.ClosedBeforeResponse
            : speaksHttp2 ? StreamResetDetail.SpeaksHttp2
            : _wasAskedForCertificate ? StreamResetDetail.WantsCertificate
            : StreamResetDetail.ClosedBeforeResponse;
    }

    /// <summary>Whether it takes a TLS handshake for one: it continues with it, or says no in TLS' words.</summary>
    private async Task<bool> AnswersTlsAsync()
    {
        using var limit = new CancellationTokenSource(_limit, _timeProvider);
        if (await OpenAsync(limit.Token).ConfigureAwait(false) is not { } transport)
        {
            return false;
        }

        var result = await TlsHandshake.ConnectAsync(transport, Options(null), limit.Token).ConfigureAwait(false);
        await ((IByteTransport?)result.Transport ?? transport).DisposeAsync().ConfigureAwait(false);
        return result.Status is TlsHandshakeStatus.Done or TlsHandshakeStatus.Refused;
    }

    /// <summary>Sends a request and returns the first bytes of the answer; none where there is no answer.</summary>
    private async Task<byte[]> ExchangeAsync(byte[] request, SslApplicationProtocol version)
    {
        using var limit = new CancellationTokenSource(_limit, _timeProvider);
        var answer = new byte[16];
        var filled = 0;
        var transport = await OpenAsync(limit.Token).ConfigureAwait(false);
        if (transport is null)
        {
            return [];
        }

        using var registration = limit.Token.UnsafeRegister(static state => ((IByteTransport)state!).Abort(), transport);
        try
        {
            if (_target.IsHttps)
            {
                var result = await TlsHandshake.ConnectAsync(transport, Options(version), limit.Token).ConfigureAwait(false);
                if (result.Transport is null)
                {
                    return [];
                }

                transport = result.Transport;
            }

            await transport.SendAsync(request).ConfigureAwait(false);
            int received;
            do
            {
                received = await transport.ReceiveAsync(answer.AsMemory(filled)).ConfigureAwait(false);
                filled += received;
            }
            while (received > 0 && filled < Enough);
        }
        catch (IOException)
        {
            // What has come so far says it, and no answer is an answer.
        }
        finally
        {
            await transport.DisposeAsync().ConfigureAwait(false);
        }

        return answer[..filled];
    }

    private async Task<IByteTransport?> OpenAsync(CancellationToken limit)
    {
        try
        {
            return await _connector.OpenAsync(limit).ConfigureAwait(false);
        }
        catch (Exception exception) when (exception is SocketException or OperationCanceledException)
        {
            return null;
        }
    }

    [SuppressMessage(
        "Security", "CA5359", Justification = "Nothing secret is sent: it is only asked whether TLS is spoken.")]
    private SslClientAuthenticationOptions Options(SslApplicationProtocol? version) => new()
    {
        TargetHost = _target.Host,
        ApplicationProtocols = version is { } only ? [only] : null,
        RemoteCertificateValidationCallback = static (object _, X509Certificate? _, X509Chain? _, SslPolicyErrors _) => true,

        // Not on connections of exchanges: it would keep them from resuming a TLS session.
        LocalCertificateSelectionCallback = (_, _, _, ofService, _) =>
        {
            // It is called once before the handshake in any case.
            _wasAskedForCertificate |= ofService is not null;
            return null!;
        },
    };
}
