using System.Globalization;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Handshake;

namespace Tunnel2.Protocol.Tests.Specification;

/// <summary>Holds the library to the examples of docs/protocol.md.</summary>
public sealed class SpecificationTests
{
    private static readonly string[] _notFields = ["name", "hex", "encode", "proven-by"];

    public static TheoryData<string> Golden => ProtocolDocument.Names("golden");

    public static TheoryData<string> Malformed => ProtocolDocument.Names("malformed");

    public static TheoryData<string> Exchanges => ProtocolDocument.Names("exchange");

    [Theory]
    [MemberData(nameof(Golden))]
    public void Bytes_decode_to_the_fields_of_the_specification(string name)
    {
        var example = ProtocolDocument.Get("golden", name);
        var expected = example.Lines.Where(line => !_notFields.Contains(line.Key)).Select(line => FrameText.Line(line.Key, line.Value));
        Assert.Equal(expected, FrameText.Decode(example.Bytes));
    }

    [Theory]
    [MemberData(nameof(Golden))]
    public void Fields_encode_to_the_bytes_of_the_specification(string name)
    {
        var example = ProtocolDocument.Get("golden", name);
        if (example.Find("encode") == "no")
        {
            Assert.Equal("unknown", example["type"]);
            return;
        }

        Assert.Equal(Convert.ToHexString(example.Bytes), Convert.ToHexString(FrameBuilder.Encode(example)));
    }

    [Theory]
    [MemberData(nameof(Malformed))]
    public void Malformed_bytes_get_the_error_of_the_specification(string name)
    {
        var example = ProtocolDocument.Get("malformed", name);
        var limits = (example.Find("limits") ?? "4 65536 131072")
            .Split(' ')
            .Select(x => int.Parse(x, CultureInfo.InvariantCulture))
            .ToArray();
        var model = new UplinkModel(example["receiver"] == "entry", limits[0], limits[1], limits[2])
        {
            IsInHandshake = example.Find("phase") == "handshake",
        };
        foreach (var sent in example.All("sent"))
        {
            model.Send(Example.ParseHex(sent));
        }

        foreach (var before in example.All("before"))
        {
            Assert.Equal(ProtocolError.None, model.Receive(Example.ParseHex(before)));
        }

        Assert.Equal(Enum.Parse<ProtocolError>(example["error"]), model.Receive(example.Bytes));
    }

    [Theory]
    [MemberData(nameof(Exchanges))]
    public void Exchanges_end_as_the_specification_says(string name)
    {
        var example = ProtocolDocument.Get("exchange", name);
        var entry = new UplinkModel(isEntry: true, 4, 65_536, 131_072);
        var agent = new UplinkModel(isEntry: false, 4, 65_536, 131_072);
        foreach (var (side, text) in example.Lines)
        {
            if (side is "entry" or "agent" or "both")
            {
                var frames = text.Split('|').Select(Example.ParseHex).ToArray();
                var sender = side == "agent" ? agent : entry;
                sender.Send(frames[0]);
                if (side == "both")
                {
                    agent.Send(frames[1]);
                    Assert.Equal(ProtocolError.None, entry.Receive(frames[1]));
                }

                Assert.Equal(ProtocolError.None, (side == "agent" ? entry : agent).Receive(frames[0]));
            }
        }

        var over = new[] { (entry, "entry"), (agent, "agent") }.Where(x => x.Item1.AllStreamsAreOver).Select(x => x.Item2);
        Assert.Equal(example["over"], string.Join(' ', over));
        var dropped = Enumerable.Repeat("entry", entry.Dropped).Concat(Enumerable.Repeat("agent", agent.Dropped));
        Assert.Equal(example.Find("dropped") ?? "", string.Join(' ', dropped));
    }

    [Fact]
    public void Every_frame_type_and_block_kind_has_an_example()
    {
        var golden = ProtocolDocument.Examples.Where(example => example.Kind == "golden").ToList();
        var types = Enum.GetValues<FrameType>().Where(type => type != FrameType.None).Select(type => type.ToString().ToUpperInvariant());
        Assert.Equal(
            types.Append("unknown").Order(StringComparer.Ordinal), golden.Select(x => x["type"]).Distinct().Order(StringComparer.Ordinal));
        Assert.Equal(
            ["Request", "Response", "Trailers"],
            golden.Select(x => x.Find("block")).OfType<string>().Distinct().Order(StringComparer.Ordinal));
    }

    [Fact]
    public void Every_protocol_error_has_a_malformed_example()
    {
        var covered = ProtocolDocument.Examples.Where(example => example.Kind == "malformed").Select(example => example["error"]);

        // A flood is too long for an example: HostileFloodTests sends it.
        var all = Enum.GetNames<ProtocolError>().Where(
            name => name is not (nameof(ProtocolError.None) or nameof(ProtocolError.EmptyFrameFlood)));
        Assert.Empty(all.Except(covered));
    }

    [Fact]
    public void The_join_example_is_proven_by_its_secret()
    {
        var example = ProtocolDocument.Get("golden", "join");
        Assert.Equal(ProtocolError.None, JoinMessage.TryRead(example.Bytes.AsSpan(FrameHeader.Size), out var join));
        Assert.True(join!.IsProvenBy(Convert.FromHexString(example["proven-by"])));
    }

    [Fact]
    public void Example_names_are_unique() => Assert.Equal(
        ProtocolDocument.Examples.Count, ProtocolDocument.Examples.Select(example => (example.Kind, example.Name)).Distinct().Count());
}
