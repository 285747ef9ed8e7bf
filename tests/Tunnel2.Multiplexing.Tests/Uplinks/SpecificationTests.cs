using System.Globalization;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Tests.InMemory;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Tests.Specification;

namespace Tunnel2.Multiplexing.Tests.Uplinks;

/// <summary>Holds the session engine to the malformed examples of docs/protocol.md, cut at random points.</summary>
public class SpecificationTests
{
    public static TheoryData<string> Malformed =>
    [
        .. ProtocolDocument.Examples.Where(
            example => example.Kind == "malformed" && example.Find("phase") != "handshake").Select(example => example.Name),
    ];

    [Theory]
    [MemberData(nameof(Malformed))]
    public async Task What_the_specification_calls_malformed_ends_the_uplink_with_that_error(string name)
    {
        var example = ProtocolDocument.Get("malformed", name);
        foreach (var kind in Enum.GetValues<EngineKind>())
        {
            for (var seed = 0; seed < 3; seed++)
            {
                await TestEngine.RunAsync(kind, engine => RefuseAsync(engine, example, seed));
            }
        }
    }

    private static async Task RefuseAsync(TestEngine engine, Example example, int seed)
    {
        var limits = (example.Find("limits") ?? "4 65536 131072")
            .Split(' ')
            .Select(x => int.Parse(x, CultureInfo.InvariantCulture))
            .ToArray();
        var options = new PairOptions { MaxStreams = limits[0], StreamWindow = limits[1], UplinkWindow = limits[2] };
        var streams = new List<TunnelStream>();
        var isEntry = example["receiver"] == "entry";
        var peer = new RawPeer(engine, isEntry ? UplinkRole.Entry : UplinkRole.Agent, options, stream =>
        {
            lock (streams)
            {
                streams.Add(stream);
            }
        });
        peer.UplinkTransport.Incoming.Tear(new Random(seed));
        foreach (var sent in example.All("sent"))
        {
            Assert.Equal(ProtocolError.None, FrameHeader.TryRead(Example.ParseHex(sent), out var header));
            streams.Add(Say(peer.Uplink, streams, header));
            Assert.Equal(header.Stream, (await peer.ReadUntilAsync(header.Type)).Header.Stream);
        }

        var opened = 0;
        foreach (var before in example.All("before"))
        {
            var frame = Example.ParseHex(before);
            Assert.Equal(ProtocolError.None, FrameHeader.TryRead(frame, out var header));
            opened += !isEntry && header.Type == FrameType.Headers ? 1 : 0;
            await peer.SendAsync(frame);
        }

        if (!isEntry)
        {
            await engine.UntilAsync(() => streams.Count >= Math.Min(opened, 1), "the streams before are open");
        }

        await peer.SendAsync(example.Bytes);
        var goAway = (await peer.ReadUntilAsync(FrameType.GoAway)).GoAway;
        Assert.Equal(GoAwayPhase.Final, goAway.Phase);
        Assert.Equal(SessionEndReason.ProtocolError, goAway.Reason);
        Assert.Equal(example["error"], goAway.Text);
        Assert.Equal(Enum.Parse<ProtocolError>(example["error"]), peer.Uplink.End!.Error);
        foreach (var stream in streams)
        {
            // The peer may read GOAWAY before the uplink has reported it to all of its streams.
            await engine.UntilAsync(() => !stream.Failure.IsNone, "the stream knows");
            Assert.Equal(StreamSendStatus.UplinkLost, await stream.WriteAsync("x"u8.ToArray(), end: true));
            await stream.WaitToReadAsync();
            stream.Release();
        }

        Assert.Null(peer.Uplink.TryOpenStream());
        var end = await peer.CloseAsync();
        Assert.Equal(SessionEndReason.ProtocolError, end.Reason);
    }

    /// <summary>Lets the uplink itself send a request on the stream that the example names.</summary>
    private static TunnelStream Say(UplinkConnection uplink, List<TunnelStream> streams, FrameHeader header)
    {
        Assert.Equal(FrameType.Headers, header.Type);
        while (true)
        {
            var stream = uplink.TryOpenStream();
            Assert.NotNull(stream);
            if (stream.Id == header.Stream)
            {
                stream.SendRequest("/", default, header.EndsDirection, out _);
                return stream;
            }

            streams.Add(stream);
        }
    }
}
