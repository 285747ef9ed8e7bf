using System.Net;
using System.Security.Cryptography;
using System.Text;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Access.Webhooks;
using Tunnel2.ProxyEntry.Limits;
using Tunnel2.ProxyEntry.Requests;
using Tunnel2.ProxyEntry.Tests.InMemory;

namespace Tunnel2.ProxyEntry.Tests.Opening;

/// <summary>Requests to a session that wants signatures, through the forwarder. In no case is a held byte left.</summary>
public sealed class WebhookGateTests
{
    private static readonly byte[] _secret = "a secret of eight"u8.ToArray();

    [Fact]
    public Task A_signed_body_is_held_until_it_is_whole_and_continues_then() => RunAsync(async fixture =>
    {
        var visitor = Visitor("hello world");
        var asked = fixture.Ask(visitor);
        await visitor.SendAsync("hello ");
        await fixture.SettleAsync();
        Assert.Equal((0, 16 * 1024), (fixture.Arrived, fixture.Memory.Held));
        await visitor.SendAsync("world", end: true);
        var agent = await fixture.AcceptAsync();
        await agent.ReadHeadAsync();
        Assert.Equal("hello world", (await agent.ReadToEndAsync()).Body);
        agent.Answer(200, "ok");
        Assert.Equal(["head 200", "body 2", "complete"], await fixture.DoneAsync(asked));
    });

    [Fact]
    public Task A_held_body_goes_to_another_stream_when_the_first_refuses_it() => RunAsync(async fixture =>
    {
        var text = new string('x', 40_000);
        var visitor = Visitor(text);
        var asked = fixture.Ask(visitor);
        await visitor.SendAsync(text, end: true);
        (await fixture.AcceptAsync()).Refuse();
        var second = await fixture.AcceptAsync();
        await second.ReadHeadAsync();
        Assert.Equal(text, (await second.ReadToEndAsync()).Body);
        second.Answer(200, "ok");
        Assert.Equal(["head 200", "body 2", "complete"], await fixture.DoneAsync(asked));
    });

    [Fact]
    public Task A_wrong_signature_is_found_when_the_body_is_whole() => RunAsync(async fixture =>
    {
        var visitor = Visitor("hello");
        var asked = fixture.Ask(visitor);
        await visitor.SendAsync("hellO", end: true);
        Assert.Equal(["error WebhookSignature"], await fixture.DoneAsync(asked));
        Assert.Equal(0, fixture.Arrived);
        Assert.Equal(1, fixture.Metrics["tunnel2.entry.access.refused:webhook-signature"]);
    });

    [Fact]
    public Task A_body_that_does_not_come_is_given_up() => RunAsync(async fixture =>
    {
        var visitor = Visitor("hello");
        var asked = fixture.Ask(visitor);
        await visitor.SendAsync("hel");
        await fixture.SettleAsync();
        fixture.Time.Advance(TimeSpan.FromSeconds(30));
        Assert.Equal(["error RequestTimeout"], await fixture.DoneAsync(asked));
        Assert.Equal(0, fixture.Arrived);
    });

    [Fact]
    public Task Without_memory_nothing_is_held() => RunAsync(async fixture =>
    {
        var kept = new List<Kept>();
        for (var one = new Kept((ulong)kept.Count); fixture.Memory.TryTake(one, 1024 * 1024); one = new Kept((ulong)kept.Count))
        {
            Assert.True(fixture.Memory.TryKeep(one));
            kept.Add(one);
        }

        Assert.InRange(kept.Count, 1, 64);
        var visitor = Visitor("hello");
        var asked = fixture.Ask(visitor);
        await visitor.SendAsync("hello", end: true);
        Assert.Equal(["error WebhookBusy, again in 1 s"], await fixture.DoneAsync(asked));
        kept.ForEach(fixture.Memory.Return);
    });

    /// <summary>Whoever has many addresses (a /48 of IPv6 has 65,536 that count) must not keep out a provider.</summary>
    [Fact]
    public Task Bodies_that_are_never_whole_give_way_to_one_of_another_address() => RunAsync(async fixture =>
    {
        var (text, stalled) = (new string('x', 60_000), new List<AskedRequest>());
        while (fixture.Memory.Held < fixture.Memory.Most)
        {
            var hostile = Visitor("never whole", new IPAddress([10, 0, 0, (byte)(stalled.Count / 10)]));
            stalled.Add(fixture.Ask(hostile));
            await hostile.SendAsync(text);
            await fixture.SettleAsync();
        }

        var provider = Visitor(text, IPAddress.Parse("198.51.100.1"));
        var asked = fixture.Ask(provider);
        await provider.SendAsync(text, end: true);
        var agent = await fixture.AcceptAsync();
        await agent.ReadHeadAsync();
        Assert.Equal(text, (await agent.ReadToEndAsync()).Body);
        agent.Answer(200, "ok");
        Assert.Equal(["head 200", "body 2", "complete"], await fixture.DoneAsync(asked));
        Assert.Equal(["error WebhookBusy, again in 1 s"], await fixture.DoneAsync(stalled[0]));

        fixture.Time.Advance(TimeSpan.FromSeconds(30));
        foreach (var one in stalled.Skip(1))
        {
            Assert.Equal(["error RequestTimeout"], await fixture.DoneAsync(one));
        }

        Assert.Equal(0, fixture.Memory.Held);
    });

    [Fact]
    public Task One_address_leaves_memory_to_the_webhooks_of_others() => RunAsync(async fixture =>
    {
        var (text, stalled) = (new string('x', 60_000), new List<AskedRequest>());
        while (fixture.Memory.Held < fixture.Memory.MostOfAddress - (64 * 1024))
        {
            var hostile = Visitor("never whole");
            stalled.Add(fixture.Ask(hostile));
            await hostile.SendAsync(text);
            await fixture.SettleAsync();
        }

        var late = Visitor(text);
        var refused = fixture.Ask(late);
        await late.SendAsync(text, end: true);
        Assert.Equal(["error WebhookBusy, again in 1 s"], await fixture.DoneAsync(refused));

        // A body that was checked counts for its address no more, however long its service takes.
        var other = IPAddress.Parse("198.51.100.1");
        var slow = new List<(AskedRequest Asked, AgentStream Agent)>();
        for (var sent = 0L; sent < fixture.Memory.MostOfAddress + text.Length; sent += text.Length)
        {
            var visitor = Visitor(text, other);
            var asked = fixture.Ask(visitor);
            await visitor.SendAsync(text, end: true);
            slow.Add((asked, await fixture.AcceptAsync()));
        }

        foreach (var (asked, agent) in slow)
        {
            await agent.ReadHeadAsync();
            Assert.Equal(text, (await agent.ReadToEndAsync()).Body);
            agent.Answer(200, "ok");
            Assert.Equal(["head 200", "body 2", "complete"], await fixture.DoneAsync(asked));
        }

        fixture.Time.Advance(TimeSpan.FromSeconds(30));
        foreach (var asked in stalled)
        {
            Assert.Equal(["error RequestTimeout"], await fixture.DoneAsync(asked));
        }
    });

    private static ScriptedVisitor Visitor(string body, IPAddress? from = null) => new()
    {
        From = from ?? IPAddress.Loopback,
        Asks = "POST",
        Sends = true,
        Fields =
        [
            (
                "X-Hub-Signature-256",
                "sha256=" + Convert.ToHexStringLower(HMACSHA256.HashData(_secret, Encoding.Latin1.GetBytes(body)))),
        ],
    };

    private static Task RunAsync(Func<ForwarderFixture, Task> test) => ForwarderFixture.RunAsync(
        async fixture =>
        {
            fixture.Session.Webhooks = new WebhookPolicy(null, new WebhookRule(WebhookProvider.GitHub, [_secret]), "a");
            await test(fixture);
            await fixture.SettleAsync();
            Assert.Equal(0, fixture.Memory.Held);
        },
        new ForwarderOptions { Uplinks = 2 });

    private sealed class Kept(ulong address) : MemoryHolder(new AddressKey(1, address))
    {
        public override void GiveWay() => throw new InvalidOperationException("What is kept does not give way.");
    }
}
