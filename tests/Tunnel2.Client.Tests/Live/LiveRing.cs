using System.Text;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.Records;

namespace Tunnel2.Client.Tests.Live;

/// <summary>A ring in a folder of its own, as a server would publish to it.</summary>
internal sealed class LiveRing : IDisposable
{
    private readonly EventRingProducer _producer;

    internal LiveRing(int capacity = 1024)
    {
        Ring = SharedEventRing.Create(FilePath("e1.ring"), new EventRingOptions { Capacity = capacity });
        _producer = Ring.CreateProducer();
    }

    internal string Folder { get; } = Directory.CreateTempSubdirectory("tunnel2-tap-").FullName;

    internal SharedEventRing Ring { get; }

    internal string FilePath(string name) => Path.Combine(Folder, name);

    /// <summary>Publishes one finished request.</summary>
    internal void Publish(
        string name, string target, int status, int milliseconds, ushort error = 0, RequestFlags flags = RequestFlags.None)
    {
        Span<byte> payload = stackalloc byte[240];
        var record = new RequestRecord
        {
            SessionName = Encoding.ASCII.GetBytes(name),
            Target = Encoding.Latin1.GetBytes(target),
            StartedUnixMicroseconds = 1_700_000_000_000_000,
            TotalMicroseconds = (uint)(milliseconds * 1000),
            BytesIn = 1,
            BytesOut = 20,
            SessionId = 7,
            Status = (ushort)status,
            ErrorCode = error,
            Method = RequestMethod.Get,
            Flags = flags,
        };
        int length = RequestRecordCodec.Encode(payload, record);
        Assert.Equal(PublishStatus.Published, _producer.TryPublish((ushort)RecordType.Request, payload[..length]));
    }

    public void Dispose()
    {
        Ring.Dispose();
        Directory.Delete(Folder, recursive: true);
    }
}
