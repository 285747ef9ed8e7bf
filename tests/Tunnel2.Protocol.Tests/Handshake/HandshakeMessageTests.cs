using FsCheck;
using FsCheck.Fluent;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Handshake;

namespace Tunnel2.Protocol.Tests.Handshake;

public sealed class HandshakeMessageTests
{
    private static Gen<byte[]> AnyFrame => Gen.OneOf(
        HandshakeSamples.Hello.Select(message => message.ToFrame()),
        HandshakeSamples.Welcome.Select(message => message.ToFrame()),
        HandshakeSamples.Reject.Select(message => message.ToFrame()),
        HandshakeSamples.Join.Select(message => message.ToFrame()));

    [Fact]
    public void Any_hello_survives_a_round_trip() => Property.Holds(HandshakeSamples.Hello, message =>
    {
        Assert.Equal(ProtocolError.None, HelloMessage.TryRead(Payload(message.ToFrame(), FrameType.Hello), out var read));
        AssertBytes(message.InstanceKey, read!.InstanceKey);
        AssertBytes(message.Proof, read.Proof);
        Assert.Equal(message.Running, read.Running);
        Assert.Equal(
            message,
            read with
            {
                InstanceKey = message.InstanceKey,
                Proof = message.Proof,
                Access = message.Access,
                Running = message.Running,
            });
        Assert.Equal(message.ToFrame(), read.ToFrame());
    });

    [Theory]
    [InlineData(0, 0)]
    [InlineData(16, 0)]
    [InlineData(31, 0)]
    [InlineData(32, 32)]
    [InlineData(33, 0)]
    [InlineData(64, 0)]
    public void An_owner_key_of_another_length_counts_as_none(int sent, int read)
    {
        Assert.Equal(
            ProtocolError.None,
            HelloMessage.TryRead(Payload((Hello() with { OwnerKey = new byte[sent] }).ToFrame(), FrameType.Hello), out var message));
        Assert.Equal(read, message!.OwnerKey.Length);
    }

    [Fact]
    public void A_session_of_another_kind_hides_its_name_from_a_server_that_knows_no_kinds()
    {
        var hello = Hello() with
        {
            Capabilities = HandshakeCapabilities.SessionKinds,
            Kind = SessionKind.Tcp,
            WantedName = "ssh",
            WantedPort = 20_000,
        };
        var payload = Payload(hello.ToFrame(), FrameType.Hello);
        Assert.Equal(ProtocolError.None, HelloMessage.TryRead(payload, out var read));
        Assert.Equal((SessionKind.Tcp, "ssh", 20_000, false), (read!.Kind, read.WantedName, read.WantedPort, read.TakesAnotherPort));

        // The same bytes, as a server reads them to which the capability says nothing.
        var older = payload.ToArray();
        older[9] = 0;
        Assert.Equal(ProtocolError.None, HelloMessage.TryRead(older, out read));
        Assert.Equal((SessionKind.Http, "", 0), (read!.Kind, read.WantedName, read.WantedPort));
    }

    [Fact]
    public void A_kind_without_its_capability_is_not_sent() =>
        Assert.Throws<ArgumentException>(() => (Hello() with { Kind = SessionKind.Tls }).ToFrame());

    [Theory]
    [InlineData(HandshakeCapabilities.AccessRules)]
    [InlineData(HandshakeCapabilities.AccessRules | HandshakeCapabilities.SessionKinds)]
    public void A_session_with_access_rules_hides_its_name_from_a_server_that_knows_none(HandshakeCapabilities capabilities)
    {
        var hello = Hello() with
        {
            Capabilities = capabilities,
            WantedName = "web",
            Access = new AccessRules { Allowed = [AccessNetwork.Create([10, 0, 0, 0], 8)!] },
        };
        var payload = Payload(hello.ToFrame(), FrameType.Hello);
        Assert.Equal(ProtocolError.None, HelloMessage.TryRead(payload, out var read));
        Assert.Equal(("web", 1), (read!.WantedName, read.Access!.Allowed.Count));

        // The same bytes, as a server reads them that is older than access rules.
        var older = payload.ToArray();
        older[9] &= unchecked((byte)~(uint)HandshakeCapabilities.AccessRules);
        Assert.Equal(ProtocolError.None, HelloMessage.TryRead(older, out read));
        Assert.Equal(("", null), (read!.WantedName, read.Access));
    }

    [Theory]
    [InlineData(HandshakeCapabilities.Pools)]
    [InlineData(HandshakeCapabilities.Pools | HandshakeCapabilities.SessionKinds)]
    [InlineData(HandshakeCapabilities.Pools | HandshakeCapabilities.AccessRules)]
    public void A_member_of_a_pool_hides_its_name_from_a_server_that_knows_none(HandshakeCapabilities capabilities)
    {
        var hello = Hello() with { Capabilities = capabilities, WantedName = "web", WaitsForHealth = true };
        var payload = Payload(hello.ToFrame(), FrameType.Hello);
        Assert.Equal(ProtocolError.None, HelloMessage.TryRead(payload, out var read));
        Assert.Equal(("web", true), (read!.WantedName, read.WaitsForHealth));

        // The same bytes, as a server reads them that is older than pools.
        var older = payload.ToArray();
        older[9] &= unchecked((byte)~(uint)HandshakeCapabilities.Pools);
        Assert.Equal(ProtocolError.None, HelloMessage.TryRead(older, out read));
        Assert.Equal(("", false), (read!.WantedName, read.WaitsForHealth));
    }

    [Fact]
    public void Of_running_sessions_sixteen_are_looked_at_and_a_list_that_ends_early_is_malformed()
    {
        var hello = Hello() with
        {
            Capabilities = HandshakeCapabilities.RunningSessions,
            Running = [.. Enumerable.Range(1, HelloMessage.MaxRunning).Select(static one => new Guid(one, 0, 0, new byte[8]))],
        };
        Assert.Throws<ArgumentException>(() => (hello with { Capabilities = HandshakeCapabilities.None }).ToFrame());
        Assert.Throws<ArgumentException>(() => (hello with { Running = [.. hello.Running, Guid.Empty] }).ToFrame());
        var payload = Payload(hello.ToFrame(), FrameType.Hello);
        Assert.Equal(ProtocolError.None, HelloMessage.TryRead(payload, out var read));
        Assert.Equal(hello.Running, read!.Running);
        Assert.Equal(ProtocolError.MalformedHandshake, HelloMessage.TryRead(payload.AsSpan(0, payload.Length - 1), out _));

        // One more than this version sends.
        byte[] more = [.. payload, .. new byte[WelcomeMessage.SessionIdLength]];
        more[payload.Length - (HelloMessage.MaxRunning * WelcomeMessage.SessionIdLength) - 1]++;
        Assert.Equal(ProtocolError.None, HelloMessage.TryRead(more, out read));
        Assert.Equal(hello.Running, read!.Running);

        // The same bytes, as a server reads them that does not know of them.
        var older = payload.ToArray();
        older[8] = 0;
        Assert.Equal(ProtocolError.None, HelloMessage.TryRead(older, out read));
        Assert.Empty(read!.Running);
    }

    [Fact]
    public void A_member_without_the_capability_is_not_sent() =>
        Assert.Throws<ArgumentException>(() => (Hello() with { WaitsForHealth = true }).ToFrame());

    [Fact]
    public void Access_rules_without_their_capability_are_not_sent() => Assert.Throws<ArgumentException>(() =>
        (Hello() with { Access = new AccessRules { Denied = [AccessNetwork.Create([10, 0, 0, 0], 8)!] } }).ToFrame());

    [Fact]
    public void Any_welcome_survives_a_round_trip() => Property.Holds(HandshakeSamples.Welcome, message =>
    {
        Assert.Equal(ProtocolError.None, WelcomeMessage.TryRead(Payload(message.ToFrame(), FrameType.Welcome), out var read));
        AssertBytes(message.SessionId, read!.SessionId);
        AssertBytes(message.JoinSecret, read.JoinSecret);
        Assert.Equal(message.PublicUrls, read.PublicUrls);
        Assert.Equal(message.Announcement?.Others ?? [], read.Announcement?.Others ?? []);
        Assert.Equal(message.Announcement?.Node, read.Announcement?.Node);
        Assert.Equal(message.Announcement?.Zone, read.Announcement?.Zone);
        Assert.Equal(
            message,
            read with
            {
                SessionId = message.SessionId,
                JoinSecret = message.JoinSecret,
                PublicUrls = message.PublicUrls,
                Announcement = message.Announcement,
            });
    });

    [Fact]
    public void Any_reject_survives_a_round_trip() => Property.Holds(HandshakeSamples.Reject, message =>
    {
        Assert.Equal(ProtocolError.None, RejectMessage.TryRead(Payload(message.ToFrame(), FrameType.Reject), out var read));
        Assert.Equal(message, read);
    });

    [Fact]
    public void Any_join_survives_a_round_trip() => Property.Holds(HandshakeSamples.Join, message =>
    {
        Assert.Equal(ProtocolError.None, JoinMessage.TryRead(Payload(message.ToFrame(), FrameType.Join), out var read));
        AssertBytes(message.SessionId, read!.SessionId);
        AssertBytes(message.Proof, read.Proof);
        Assert.Equal(message.Counter, read.Counter);
        Assert.Equal(message.Version, read.Version);
    });

    [Fact]
    public void A_message_cut_anywhere_is_refused() => Property.Holds(AnyFrame, frame =>
    {
        FrameHeader.TryRead(frame, out var header);
        for (var length = 0; length < header.Length; length++)
        {
            var error = Read(header.Type, frame.AsSpan(FrameHeader.Size, length));
            var hasMagic = header.Type is FrameType.Hello or FrameType.Join;
            Assert.Equal(hasMagic && length < 4 ? ProtocolError.WrongMagic : ProtocolError.MalformedHandshake, error);
        }
    }, count: 60);

    [Fact]
    public void Fields_of_a_later_version_are_ignored() => Property.Holds(AnyFrame, frame =>
    {
        FrameHeader.TryRead(frame, out var header);
        Assert.Equal(ProtocolError.None, Read(header.Type, [.. frame[FrameHeader.Size..], 1, 2, 3]));
    });

    [Fact]
    public void Random_and_changed_messages_never_throw() => Property.Holds(
        from frame in Gen.OneOf(AnyFrame, Property.Bytes(8, 200))
        from flips in Property.UInt32.ArrayOf(3)
        select (frame, flips),
        sample =>
        {
            foreach (var flip in sample.flips)
            {
                sample.frame[(flip >> 8) % sample.frame.Length] ^= (byte)flip;
            }

            foreach (var type in (FrameType[])[FrameType.Hello, FrameType.Welcome, FrameType.Reject, FrameType.Join])
            {
                Read(type, sample.frame.AsSpan(FrameHeader.Size));
            }
        }, count: 1_000);

    [Theory]
    [InlineData(15, false)]
    [InlineData(16, true)]
    [InlineData(64, true)]
    [InlineData(65, false)]
    public void An_instance_key_has_16_to_64_bytes(int length, bool accepted) =>
        AssertHello(accepted, Hello() with { InstanceKey = new byte[length] });

    [Theory]
    [InlineData(16_383, 16_384, false)]
    [InlineData(16_384, 16_384, true)]
    [InlineData(16_384, 16_383, false)]
    [InlineData(65_536, 65_535, false)]
    [InlineData(int.MaxValue, int.MaxValue, true)]
    public void Windows_hold_at_least_a_data_frame_and_the_uplink_a_stream(int stream, int uplink, bool accepted)
    {
        AssertHello(accepted, Hello() with { StreamWindow = stream, UplinkWindow = uplink });
        AssertWelcome(accepted, Welcome() with { StreamWindow = stream, UplinkWindow = uplink });
    }

    [Theory]
    [InlineData(0, false)]
    [InlineData(1, true)]
    [InlineData(65_536, true)]
    [InlineData(65_537, false)]
    [InlineData(-1, false)]
    public void The_number_of_streams_fits_the_slots(int streams, bool accepted)
    {
        AssertHello(accepted, Hello() with { MaxStreams = streams });
        AssertWelcome(accepted, Welcome() with { MaxStreams = streams });
    }

    [Fact]
    public void A_window_above_the_largest_credit_counts_as_the_largest()
    {
        var payload = Hello().ToFrame()[FrameHeader.Size..];
        payload.AsSpan(10, 8).Fill(0xFF);
        Assert.Equal(ProtocolError.None, HelloMessage.TryRead(payload, out var read));
        Assert.Equal((int.MaxValue, int.MaxValue), (read!.StreamWindow, read.UplinkWindow));
    }

    [Theory]
    [InlineData(0, false)]
    [InlineData(1, true)]
    [InlineData(2, false)]
    public void A_welcome_names_a_version_that_this_side_speaks(byte version, bool accepted) =>
        AssertWelcome(accepted, Welcome() with { Version = version });

    [Fact]
    public void A_welcome_allows_at_least_one_uplink() => AssertWelcome(false, Welcome() with { MaxUplinks = 0 });

    [Fact]
    public void A_hello_at_its_limit_is_encoded_and_one_byte_more_refused()
    {
        var spare = ProtocolLimits.MaxHelloLength - (Hello().ToFrame().Length - FrameHeader.Size);
        Assert.Equal(FrameHeader.Size + ProtocolLimits.MaxHelloLength, (Hello() with { Proof = new byte[spare] }).ToFrame().Length);
        Assert.Throws<ArgumentException>(() => (Hello() with { Proof = new byte[spare + 1] }).ToFrame());
        Assert.Throws<ArgumentException>(() => (Hello() with { Proof = new byte[70_000] }).ToFrame());
        Assert.Throws<ArgumentException>(() => (Hello() with { AgentName = new string('n', 256) }).ToFrame());
    }

    [Theory]
    [InlineData("e2", "e2.example.com", 12001, "b", true)]
    [InlineData("", "e2.example.com", 12001, "b", false)]
    [InlineData("e2", "", 12001, "b", false)]
    [InlineData("e2", "e2.example.com", 0, "b", false)]
    [InlineData("e2", "e2.example.com/x", 12001, "b", false)]
    [InlineData("e2", "[::1]", 12001, "b", false)]
    [InlineData("e2", "user@e2.example.com", 12001, "b", false)]
    [InlineData("e2\n", "e2.example.com", 12001, "b", false)]
    [InlineData("e2", "e2.example.com", 12001, "b c", false)]
    public void A_node_that_is_not_well_formed_is_left_out(string id, string host, int port, string zone, bool isKept)
    {
        var good = new AnnouncedNode("e9", "192.0.2.9", 9, "");
        var frame = Announcing(new AnnouncedNode(id, host, port, zone), good).ToFrame();
        Assert.Equal(ProtocolError.None, WelcomeMessage.TryRead(frame.AsSpan(FrameHeader.Size), out var read));
        Assert.Equal(isKept ? 2 : 1, read!.Announcement!.Others.Count);
        Assert.Equal(good, read.Announcement.Others[^1]);
    }

    [Fact]
    public void No_more_than_sixteen_nodes_are_looked_at()
    {
        AnnouncedNode[] nodes = [.. Enumerable.Range(1, 16).Select(static i => new AnnouncedNode("n", "h", i, ""))];
        Assert.Throws<ArgumentException>(() => Announcing([.. nodes, nodes[0]]).ToFrame());

        // A sender that knows no bound: the number lies before the nodes, which are of seven bytes each.
        var frame = Announcing(nodes).ToFrame();
        frame[^(16 * 7 + 1)] = 17;
        Assert.Equal(
            ProtocolError.None,
            WelcomeMessage.TryRead([.. frame.AsSpan(FrameHeader.Size), 1, (byte)'n', 1, (byte)'h', 0, 17, 0], out var read));
        Assert.Equal(nodes, read!.Announcement!.Others);
    }

    private static WelcomeMessage Announcing(params AnnouncedNode[] nodes) => Welcome() with
    {
        Capabilities = HandshakeCapabilities.AnnouncedNodes,
        Announcement = new NodeAnnouncement("e1", "a", nodes),
    };

    [Fact]
    public void A_welcome_that_cannot_be_encoded_is_refused_with_an_argument_exception()
    {
        Assert.Throws<ArgumentException>(() => (Welcome() with { PublicUrls = [.. Enumerable.Repeat("", 256)] }).ToFrame());
        Assert.Throws<ArgumentException>(() => (Welcome() with { PublicUrls = [new string('u', 70_000)] }).ToFrame());
        Assert.Throws<ArgumentException>(() => (Welcome() with { PublicUrls = [new string('u', 16_384)] }).ToFrame());
        Assert.Throws<ArgumentException>(() => (Welcome() with { SessionId = new byte[15] }).ToFrame());
        Assert.Throws<ArgumentException>(() => (Welcome() with { SessionId = new byte[17] }).ToFrame());
        Assert.Throws<ArgumentException>(() => (Welcome() with { JoinSecret = new byte[31] }).ToFrame());
    }

    [Fact]
    public void A_join_with_a_session_id_or_proof_of_another_length_is_refused_with_an_argument_exception()
    {
        var join = JoinMessage.Create(new byte[16], new byte[32], 1);
        Assert.Throws<ArgumentException>(() => (join with { SessionId = new byte[15] }).ToFrame());
        Assert.Throws<ArgumentException>(() => (join with { Proof = new byte[33] }).ToFrame());
    }

    [Theory]
    [InlineData("a")]
    [InlineData("é")]
    [InlineData("漢")]
    [InlineData("😀")]
    public void A_reject_text_that_does_not_fit_is_cut_at_a_character(string character)
    {
        for (var lead = 0; lead < 4; lead++)
        {
            var text = new string('x', lead) + string.Concat(Enumerable.Repeat(character, 1_200));
            var frame = new RejectMessage(RejectCode.Overloaded, TimeSpan.Zero, text).ToFrame();
            Assert.Equal(ProtocolError.None, RejectMessage.TryRead(Payload(frame, FrameType.Reject), out var read));
            Assert.StartsWith(read!.Text, text, StringComparison.Ordinal);
            Assert.InRange(System.Text.Encoding.UTF8.GetByteCount(read.Text), 997, 1_000);
        }
    }

    [Fact]
    public void Half_a_character_at_the_end_of_a_reject_text_is_shown_as_one_that_is_unknown()
    {
        var frame = new RejectMessage(RejectCode.Overloaded, TimeSpan.Zero, "no\ud83d").ToFrame();
        Assert.Equal(ProtocolError.None, RejectMessage.TryRead(Payload(frame, FrameType.Reject), out var read));
        Assert.Equal("no\ufffd", read!.Text);
    }

    [Theory]
    [InlineData(0, 0)]
    [InlineData(-5, 0)]
    [InlineData(0.25, 1)]
    [InlineData(1.5, 2)]
    [InlineData(1e12, uint.MaxValue)]
    public void A_wait_before_a_retry_is_rounded_up_so_that_it_stays_one(double milliseconds, long expected)
    {
        var frame = new RejectMessage(RejectCode.Overloaded, TimeSpan.FromMilliseconds(milliseconds), "").ToFrame();
        Assert.Equal(ProtocolError.None, RejectMessage.TryRead(Payload(frame, FrameType.Reject), out var read));
        Assert.Equal(expected, (long)read!.RetryAfter.TotalMilliseconds);
        Assert.Equal(expected > 0, read.IsRetryable);
    }

    private static HelloMessage Hello() => new() { AgentName = "tunnel2", AgentVersion = "0", InstanceKey = new byte[16] };

    private static WelcomeMessage Welcome() =>
        new() { SessionId = new byte[16], JoinSecret = new byte[32], Name = "web", PublicUrls = ["http://web.localhost"] };

    private static void AssertHello(bool accepted, HelloMessage message) => Assert.Equal(
        accepted ? ProtocolError.None : ProtocolError.MalformedHandshake,
        HelloMessage.TryRead(Payload(message.ToFrame(), FrameType.Hello), out _));

    private static void AssertWelcome(bool accepted, WelcomeMessage message) => Assert.Equal(
        accepted ? ProtocolError.None : ProtocolError.MalformedHandshake,
        WelcomeMessage.TryRead(Payload(message.ToFrame(), FrameType.Welcome), out _));

    private static void AssertBytes(ReadOnlyMemory<byte> expected, ReadOnlyMemory<byte> actual) =>
        Assert.Equal(expected.ToArray(), actual.ToArray());

    private static byte[] Payload(byte[] frame, FrameType type)
    {
        Assert.Equal(ProtocolError.None, FrameHeader.TryRead(frame, out var header));
        Assert.Equal(new FrameHeader(frame.Length - FrameHeader.Size, type, FrameFlags.None, StreamId.Uplink), header);
        return frame[FrameHeader.Size..];
    }

    private static ProtocolError Read(FrameType type, ReadOnlySpan<byte> payload) => type switch
    {
        FrameType.Hello => HelloMessage.TryRead(payload, out _),
        FrameType.Welcome => WelcomeMessage.TryRead(payload, out _),
        FrameType.Reject => RejectMessage.TryRead(payload, out _),
        _ => JoinMessage.TryRead(payload, out _),
    };
}
