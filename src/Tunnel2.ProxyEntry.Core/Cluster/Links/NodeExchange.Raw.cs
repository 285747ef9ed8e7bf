using System.Globalization;
using Tunnel2.Protocol.Handshake;
using Tunnel2.Protocol.Headers;
using Tunnel2.ProxyEntry.Sessions;

namespace Tunnel2.ProxyEntry.Cluster.Links;

/// <content>A visitor's connection without HTTP: its scheme says what it is, as on the uplink of an agent.</content>
internal sealed partial class NodeExchange
{
    private RawStream? _raw;

    /// <inheritdoc/>
    public override bool IsRaw => _raw is not null;

    /// <inheritdoc/>
    public override bool Suits(EntrySession session) => _raw is { } raw ? raw.IsOf(session) : base.Suits(session);

    private void BeginRaw(scoped in HeaderBlock block)
    {
        _raw = _isUpgrade ? RawStream.Of(block) : null;
        _state.OwnIdleLimit = _raw is not { } raw ? null
            : raw.Kind == SessionKind.Udp ? (long)_settings.Udp.Idle.TotalMilliseconds
            : _settings.Tcp.MostSilent;
        _state.HalfEndedLimit = _settings.Tcp.MostHalfClosed;
    }

    /// <summary>What such a connection leads to.</summary>
    /// <param name="Kind">What it carries.</param>
    /// <param name="Port">The port that the visitor called.</param>
    private sealed record RawStream(SessionKind Kind, int Port)
    {
        /// <summary>What logs and records have in place of a path.</summary>
        public string Text => string.Create(CultureInfo.InvariantCulture, $"{Kind.ToString().ToLowerInvariant()}:{Port}");

        /// <summary>Reads it; null: it is a request of HTTP.</summary>
        public static RawStream? Of(scoped in HeaderBlock block)
        {
            SessionKind? kind = block.Scheme.SequenceEqual("tcp"u8) ? SessionKind.Tcp
                : block.Scheme.SequenceEqual("tls"u8) ? SessionKind.Tls
                : block.Scheme.SequenceEqual("udp"u8) ? SessionKind.Udp
                : null;
            var port = block.Authority[(block.Authority.LastIndexOf((byte)':') + 1)..];
            return kind is null ? null
                : int.TryParse(port, NumberStyles.None, CultureInfo.InvariantCulture, out var number) ? new RawStream(kind.Value, number)
                : new RawStream(kind.Value, 0);
        }

        /// <summary>Whether a session is the one that is meant: of a port, only the one that has it.</summary>
        public bool IsOf(EntrySession session) =>
            session.Kind == Kind && (Kind == SessionKind.Tls || session.Lease?.Port == Port);
    }
}
