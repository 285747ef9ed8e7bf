using System.Buffers.Binary;
using System.Text;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Tests.InMemory;
using Tunnel2.Http2.Frames;
using Tunnel2.Protocol.Errors;

namespace Tunnel2.Client.Tests.Exchanges;

/// <summary>One request of a visitor at the agent, to a service that speaks HTTP/2.</summary>
public sealed class BackendExchangeHttp2Tests
{
    private static readonly AgentOptions _options = ExchangeFixture.Options with
    {
        Upstream = ExchangeFixture.Options.Upstream with { IsHttp2 = true },
    };

    /// <summary>What the uplink says of the visitor's reset, and the code that the service gets.</summary>
    public static TheoryData<StreamResetDetail, uint> Codes => new()
    {
        { StreamResetDetails.OfHttp2(2), 2 },
        { StreamResetDetails.OfHttp2(5), 5 },
        { StreamResetDetail.None, 8 },
    };

    [Theory]
    [MemberData(nameof(Codes))]
    public Task A_write_that_meets_the_visitors_reset_before_its_call_passes_its_code_on(StreamResetDetail detail, uint expected) =>
        ExchangeFixture.RunAsync(
            async fixture =>
            {
                // The call that reports the reset is late: it comes to the test, and the exchange sees only what its own write returns.
                var isReset = false;
                fixture.OnServed = stream => stream.NotifyReset((_, _) => isReset = true, null);
                var asked = fixture.Ask();
                var service = await AcceptAsync(fixture);
                var id = (await ReadUntilAsync(service, Http2FrameType.Headers)).StreamId;
                asked.Reset(StreamResetReason.Cancel, detail);
                asked.Release();
                await fixture.UntilAsync(() => isReset, "the agent's stream is reset");
                await SendAsync(service, Http2FrameType.Headers, Http2FrameFlags.EndHeaders, id, "\u0088");

                var reset = await ReadUntilAsync(service, Http2FrameType.RstStream);
                Assert.Equal((id, expected), (reset.StreamId, BinaryPrimitives.ReadUInt32BigEndian(reset.Payload)));
                await EndAsync(fixture, service);
            },
            _options,
            connections: 1);

    [Theory]
    [MemberData(nameof(Codes))]
    public Task A_visitors_reset_while_the_service_thinks_passes_its_code_on(StreamResetDetail detail, uint expected) =>
        ExchangeFixture.RunAsync(
            async fixture =>
            {
                var asked = fixture.Ask();
                var service = await AcceptAsync(fixture);
                var id = (await ReadUntilAsync(service, Http2FrameType.Headers)).StreamId;
                asked.Reset(StreamResetReason.Cancel, detail);
                asked.Release();

                var reset = await ReadUntilAsync(service, Http2FrameType.RstStream);
                Assert.Equal((id, expected), (reset.StreamId, BinaryPrimitives.ReadUInt32BigEndian(reset.Payload)));
                await EndAsync(fixture, service);
            },
            _options,
            connections: 1);

    [Fact]
    public Task A_service_that_takes_the_connection_and_says_nothing_is_not_there_in_time() => ExchangeFixture.RunAsync(
        static async fixture =>
        {
            // The request waits from then on, and the connection is open a moment later.
            var opens = new TaskCompletionSource();
            fixture.BeforeOpening = _ => opens.Task;
            var asked = fixture.Ask();
            await fixture.UntilAsync(() => fixture.Dialled == 1, "the agent connects");
            fixture.Time.Advance(TimeSpan.FromTicks(1));
            opens.SetResult();
            var service = await fixture.AcceptAsync();
            await service.ReadAsync(Http2Frames.Preface.Length);
            fixture.Time.Advance(fixture.Context.Connector.Timeout - TimeSpan.FromTicks(1));
            Assert.Equal((StreamResetReason.BackendConnect, StreamResetDetail.ConnectTimeout), (await Answer.ReadAsync(asked)).Reset);
            await EndAsync(fixture, service);
        },
        _options);

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public Task An_answer_that_ends_short_of_its_length_is_the_services_fault(bool hasTrailers) => ExchangeFixture.RunAsync(
        async fixture =>
        {
            const string OfFiveBytes = "\u0088\u000f\u000d\u00015";
            var asked = fixture.Ask();
            var service = await AcceptAsync(fixture);
            var id = (await ReadUntilAsync(service, Http2FrameType.Headers)).StreamId;
            await SendAsync(service, Http2FrameType.Headers, Http2FrameFlags.EndHeaders, id, OfFiveBytes);
            await SendAsync(service, Http2FrameType.Data, hasTrailers ? Http2FrameFlags.None : Http2FrameFlags.EndStream, id, "ok");
            if (hasTrailers)
            {
                await SendAsync(
                    service, Http2FrameType.Headers, Http2FrameFlags.EndHeaders | Http2FrameFlags.EndStream, id, "\0\u0001x\u0001y");
            }

            var answer = await Answer.ReadAsync(asked);
            Assert.Equal(("ok", null), (answer.Body, answer.Trailers));
            Assert.Equal((StreamResetReason.BackendProtocol, StreamResetDetail.MalformedBody), answer.Reset);
            await EndAsync(fixture, service);
            await fixture.UntilAsync(() => fixture.Events.Failed.Count > 0, "the failure is reported");
            Assert.Equal([("backend", "the body of its answer is malformed")], fixture.Events.Failed);
        },
        _options,
        connections: 1);

    /// <summary>The agent's connection, with SETTINGS of the service.</summary>
    private static async Task<ScriptedBackend> AcceptAsync(ExchangeFixture fixture)
    {
        var service = await fixture.AcceptAsync();
        Assert.Equal(Encoding.Latin1.GetString(Http2Frames.Preface), await service.ReadAsync(Http2Frames.Preface.Length));
        await SendAsync(service, Http2FrameType.Settings, Http2FrameFlags.None, 0, "");
        return service;
    }

    private static async Task EndAsync(ExchangeFixture fixture, ScriptedBackend service)
    {
        service.Close();
        await fixture.UntilAsync(() => fixture.Context.Connector.Slots.All.Taken == 0, "the connection to the service is closed");
    }

    private static Task SendAsync(ScriptedBackend service, Http2FrameType type, Http2FrameFlags flags, int id, string payload)
    {
        var frame = new byte[Http2FrameHeader.Size];
        new Http2FrameHeader(payload.Length, type, flags, id).Write(frame);
        return service.SendAsync(Encoding.Latin1.GetString(frame) + payload);
    }

    private static async Task<(int StreamId, byte[] Payload)> ReadUntilAsync(ScriptedBackend service, Http2FrameType type)
    {
        while (true)
        {
            var header = Http2FrameHeader.Read(Encoding.Latin1.GetBytes(await service.ReadAsync(Http2FrameHeader.Size)));
            var payload = Encoding.Latin1.GetBytes(await service.ReadAsync(header.Length));
            if (header.Type == type)
            {
                return (header.StreamId, payload);
            }
        }
    }
}
