using Tunnel2.Protocol;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.Recording;
using Tunnel2.Telemetry.Relay;

namespace Tunnel2.Client.Live;

/// <summary>Messages about faults of rings, recordings and relays. Stateless.</summary>
internal static class RecordingText
{
    public static string Describe(string path, RecordingReader reader) => Describe(path, reader.Status, reader.Position);

    public static string Describe(string path, RecordingStatus status, long position) => $"{PlainText.Clean(path)}: " + status switch
    {
        RecordingStatus.NotARecording => "not a recording",
        RecordingStatus.UnsupportedVersion => "a recording of another version",
        RecordingStatus.CutShort => $"the recording ends within a frame, at byte {position}; all before it was read",
        RecordingStatus.Damaged => $"the recording is damaged at byte {position}; all before it was read",
        _ => "read",
    };

    public static string Describe(EventRingOpenError error) => error switch
    {
        EventRingOpenError.NotFound => "there is no such file",
        EventRingOpenError.AccessDenied => "the file may not be read; the ring belongs to the server's user",
        EventRingOpenError.TooShort or EventRingOpenError.BadMagic => "not an event ring",
        EventRingOpenError.UnsupportedVersion => "an event ring of another version",
        EventRingOpenError.CorruptHeader => "the ring's header is damaged",
        EventRingOpenError.BadGeometry => "the ring's header has values out of range",
        EventRingOpenError.Truncated => "the file is shorter than its header says",
        EventRingOpenError.UnsupportedPlatform => "rings need a little-endian processor",
        _ => "the ring is fine",
    };

    public static string Describe(RelayClientEnd end) => end switch
    {
        RelayClientEnd.Unreachable => "the relay cannot be reached",
        RelayClientEnd.Silent => "the relay has gone silent",
        RelayClientEnd.ProtocolError => "this is no relay, or one of another version",
        RelayClientEnd.Refused => "the relay takes no more clients, or none from this address for now",
        RelayClientEnd.NotAuthorized => "the admin token is wrong",
        RelayClientEnd.TlsRequired => "the relay expects TLS: --host tls://…",
        RelayClientEnd.TlsFailed => "the TLS handshake failed",
        _ => "the relay closed the connection",
    };
}
