using System.Security.Cryptography;
using System.Text;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Access.Webhooks;

namespace Tunnel2.ProxyEntry.Tests.Access.Webhooks;

/// <summary>The examples of the providers' own documents, and what differs from them.</summary>
public sealed class WebhookVerifierTests
{
    private const string TwilioUrl = "https://mycompany.com/myapp.php?foo=1&bar=2";
    private const string TwilioForm =
        "Digits=1234&To=%2B18005551212&From=%2B14158675309&Caller=%2B14158675309&CallSid=CA1234567890ABCDE";

    private const string TwilioJson = "{\"property\": \"value\", \"boolean\": true}";
    private const string TwilioJsonUrl =
        TwilioUrl + "&bodySHA256=0a1ff7634d9ab3b95db5c9a2dfe9416e41502b283a80c7cf19632632f96e6620";

    private const string StandardSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    private const string StandardBody = "{\"test\": 2432232314}";
    private const string StandardSignature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
    private const long StandardTime = 1614265330;

    private const string GitHubSecret = "It's a Secret to Everybody";
    private const string GitHubSignature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";

    [Fact]
    public void The_example_of_github_is_right() =>
        Assert.True(Check(WebhookProvider.GitHub, "Hello, World!", [GitHubSecret], ("X-Hub-Signature-256", GitHubSignature)));

    [Theory]
    [InlineData("Hello, World", GitHubSignature)]
    [InlineData("Hello, World!", "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e18")]
    [InlineData("Hello, World!", "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17")]
    [InlineData("Hello, World!", "sha256=")]
    [InlineData("Hello, World!", "sha1=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17")]
    [InlineData("Hello, World!", "sha256=zz7107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17")]
    public void Another_body_or_signature_of_github_is_wrong(string body, string signature) =>
        Assert.False(Check(WebhookProvider.GitHub, body, [GitHubSecret], ("X-Hub-Signature-256", signature)));

    [Fact]
    public void A_signature_that_is_missing_or_comes_twice_is_wrong()
    {
        Assert.False(Check(WebhookProvider.GitHub, "Hello, World!", [GitHubSecret]));
        Assert.False(Check(
            WebhookProvider.GitHub, "Hello, World!", [GitHubSecret],
            ("X-Hub-Signature-256", GitHubSignature), ("X-Hub-Signature-256", GitHubSignature)));
    }

    [Fact]
    public void While_a_secret_is_replaced_both_are_right()
    {
        Assert.True(Check(
            WebhookProvider.GitHub, "Hello, World!", ["the new secret", GitHubSecret], ("X-Hub-Signature-256", GitHubSignature)));
        Assert.False(Check(
            WebhookProvider.GitHub, "Hello, World!", ["the new secret", "another one"], ("X-Hub-Signature-256", GitHubSignature)));
    }

    [Theory]
    [InlineData("token-of-gitlab", true)]
    [InlineData("token-of-gitlaB", false)]
    [InlineData("token-of-gitlab ", false)]
    [InlineData("", false)]
    public void Gitlab_shows_the_secret_itself(string token, bool isRight) =>
        Assert.Equal(isRight, Check(WebhookProvider.GitLab, "any", ["token-of-gitlab"], ("X-Gitlab-Token", token)));

    [Theory]
    [InlineData(0, true)]
    [InlineData(300, true)]
    [InlineData(-300, true)]
    [InlineData(301, false)]
    [InlineData(-301, false)]
    public void The_example_of_standard_webhooks_is_right_for_five_minutes(int late, bool isRight) => Assert.Equal(
        isRight,
        Check(
            WebhookProvider.Standard, StandardBody, [StandardSecret], StandardTime + late,
            ("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek"), ("webhook-timestamp", $"{StandardTime}"),
            ("webhook-signature", "v1,AAAA v2,BBBB " + StandardSignature)));

    [Theory]
    [InlineData("webhook-id", "msg_other")]
    [InlineData("webhook-timestamp", "1614265331")]
    [InlineData("webhook-timestamp", "-1614265330")]
    [InlineData("webhook-timestamp", "99999999999999999999")]
    [InlineData("webhook-timestamp", "")]
    [InlineData("webhook-signature", "v1,")]
    [InlineData("webhook-signature", "v1a,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")]
    public void Anything_else_of_standard_webhooks_is_wrong(string name, string value)
    {
        (string Name, string Value)[] fields =
        [
            ("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek"), ("webhook-timestamp", $"{StandardTime}"),
            ("webhook-signature", StandardSignature),
        ];
        Assert.False(Check(
            WebhookProvider.Standard, StandardBody, [StandardSecret], StandardTime,
            [.. fields.Select(field => field.Name == name ? (name, value) : field)]));
    }

    [Fact]
    public void The_names_of_svix_are_those_of_the_standard_where_these_do_not_come()
    {
        (string Name, string Value)[] svix =
        [
            ("svix-id", "msg_p5jXN8AQM9LWM0D4loKWxJek"), ("svix-timestamp", $"{StandardTime}"), ("svix-signature", StandardSignature),
        ];
        Assert.True(Check(WebhookProvider.Standard, StandardBody, [StandardSecret], StandardTime, svix));
        Assert.False(Check(WebhookProvider.Standard, StandardBody + " ", [StandardSecret], StandardTime, svix));
        Assert.False(Check(WebhookProvider.Standard, StandardBody, [StandardSecret], StandardTime, svix[..2]));
        Assert.False(Check(WebhookProvider.Standard, StandardBody, [StandardSecret], StandardTime + 301, svix));
        Assert.False(Check(
            WebhookProvider.Standard, StandardBody, [StandardSecret], StandardTime, [.. svix, ("webhook-signature", "v1,")]));
        Assert.False(Check(
            WebhookProvider.Standard, StandardBody, [StandardSecret], StandardTime,
            [("webhook-id", svix[0].Value), ("webhook-timestamp", svix[1].Value), svix[2]]));
    }

    [Theory]
    [InlineData("t={0},v1={1}", true)]
    [InlineData("t={0},v0=00,v1={2},v1={1}", true)]
    [InlineData("t={0}, v1={1}", true)]
    [InlineData("t={0},v1={2}", false)]
    [InlineData("t={0},t={0},v1={1}", false)]
    [InlineData("v1={1}", false)]
    [InlineData("t={0}", false)]
    [InlineData("t=x,v1={1}", false)]
    [InlineData("t={0},v1={2},v1={2},v1={2},v1={2},v1={2},v1={2},v1={2},v1={2},v1={1}", false)]
    public void Stripe_signs_time_and_body(string form, bool isRight)
    {
        const long Time = 1_700_000_000;
        const string Body = "{\"id\":\"evt_1\"}";
        var right = Convert.ToHexStringLower(HMACSHA256.HashData("whsec_stripe"u8, Encoding.ASCII.GetBytes($"{Time}.{Body}")));
        var header = form.Replace("{0}", $"{Time}", StringComparison.Ordinal).Replace("{1}", right, StringComparison.Ordinal)
            .Replace("{2}", new string('0', 64), StringComparison.Ordinal);
        Assert.Equal(isRight, Check(WebhookProvider.Stripe, Body, ["whsec_stripe"], Time + 10, ("Stripe-Signature", header)));
        Assert.False(Check(WebhookProvider.Stripe, Body, ["whsec_stripe"], Time + 301, ("Stripe-Signature", header)));
    }

    [Theory]
    [InlineData(0, true)]
    [InlineData(301, false)]
    public void Slack_signs_version_time_and_body(int late, bool isRight)
    {
        const long Time = 1_531_420_618;
        const string Body = "token=xyzz0WbapA4vBCDEFxx0q6G&team_id=T1DC2JH3J";
        var right = "v0=" + Convert.ToHexStringLower(
            HMACSHA256.HashData("8f742231b10e8888abcd99yyyzzz85a5"u8, Encoding.ASCII.GetBytes($"v0:{Time}:{Body}")));
        Assert.Equal(isRight, Check(
            WebhookProvider.Slack, Body, ["8f742231b10e8888abcd99yyyzzz85a5"], Time + late,
            ("X-Slack-Signature", right), ("X-Slack-Request-Timestamp", $"{Time}")));
        Assert.False(Check(
            WebhookProvider.Slack, Body, ["8f742231b10e8888abcd99yyyzzz85a5"], Time + late,
            ("X-Slack-Signature", right), ("X-Slack-Request-Timestamp", $"{Time + 1}")));
        Assert.False(Check(WebhookProvider.Slack, Body, ["8f742231b10e8888abcd99yyyzzz85a5"], Time + late, ("X-Slack-Signature", right)));
    }

    [Theory]
    [InlineData(TwilioForm, TwilioUrl, "RSOYDt4T1cUTdK1PDd93/VVr8B8=", "application/x-www-form-urlencoded", true)]
    [InlineData(TwilioForm, TwilioUrl, "RSOYDt4T1cUTdK1PDd93/VVr8B8=", "application/x-www-form-urlencoded; charset=UTF-8", true)]
    [InlineData(TwilioForm + "&a=b", TwilioUrl, "RSOYDt4T1cUTdK1PDd93/VVr8B8=", "application/x-www-form-urlencoded", false)]
    [InlineData(TwilioForm, TwilioUrl + "&x=1", "RSOYDt4T1cUTdK1PDd93/VVr8B8=", "application/x-www-form-urlencoded", false)]
    [InlineData(TwilioForm, TwilioUrl, "RSOYDt4T1cUTdK1PDd93/VVr8B8=", "text/plain", false)]
    [InlineData(TwilioJson, TwilioJsonUrl, "a9nBmqA0ju/hNViExpshrM61xv4=", "application/json", true)]
    [InlineData(TwilioJson + " ", TwilioJsonUrl, "a9nBmqA0ju/hNViExpshrM61xv4=", "application/json", false)]
    [InlineData(TwilioJson, TwilioUrl, "a9nBmqA0ju/hNViExpshrM61xv4=", "application/json", false)]
    public void Twilio_signs_the_url_and_the_sorted_form_or_the_bodys_digest(
        string body, string url, string signature, string type, bool isRight) => Assert.Equal(
        isRight,
        Check(WebhookProvider.Twilio, body, ["12345"], 0, url, ("X-Twilio-Signature", signature), ("Content-Type", type)));

    [Fact]
    public void A_signature_with_a_time_comes_once_also_beside_other_text()
    {
        var memories = new WebhookMemories();
        Assert.True(Passes(memories, "a", StandardSignature));
        Assert.False(Passes(memories, "a", StandardSignature));
        Assert.False(Passes(
            memories, "a", "v1," + Convert.ToBase64String(new byte[32]) + " " + StandardSignature));
    }

    /// <summary>While a secret is replaced, providers sign with both: a reader of such a request may send it with one of them.</summary>
    [Fact]
    public void A_request_that_two_secrets_have_signed_comes_once_with_either_of_its_signatures()
    {
        const string Second = "whsec_c2Vjb25kLXNlY3JldC1vZi1zdGFuZGFyZA==";
        string[] both = [StandardSecret, Second];
        var other = "v1," + Convert.ToBase64String(HMACSHA256.HashData(
            "second-secret-of-standard"u8, Encoding.ASCII.GetBytes($"msg_p5jXN8AQM9LWM0D4loKWxJek.{StandardTime}.{StandardBody}")));
        foreach (var first in new[] { $"{StandardSignature} {other}", other, StandardSignature })
        {
            var memories = new WebhookMemories();
            Assert.True(Passes(memories, "a", first, both));
            Assert.False(Passes(memories, "a", StandardSignature, both));
            Assert.False(Passes(memories, "a", other, both));

            // An agent that has only one of the secrets yet, or still.
            Assert.False(Passes(memories, "a", StandardSignature, StandardSecret));
            Assert.False(Passes(memories, "a", other, Second));
        }
    }

    [Fact]
    public void A_secret_that_a_rule_has_twice_is_right_once() =>
        Assert.True(Passes(new WebhookMemories(), "a", StandardSignature, StandardSecret, StandardSecret));

    /// <summary>Each call has rules of its own, as each session of an owner has: of another name, of a pool, of a new connection.</summary>
    [Fact]
    public void A_signature_comes_once_to_all_tunnels_of_an_owner_and_to_those_of_another_owner_too()
    {
        var memories = new WebhookMemories();
        Assert.True(Passes(memories, "a", StandardSignature));
        Assert.False(Passes(memories, "a", StandardSignature));
        Assert.True(Passes(memories, "b", StandardSignature));
        Assert.Equal(2, memories.Count);
    }

    [Fact]
    public void Memories_are_bounded_and_the_one_that_is_quiet_for_longest_makes_room()
    {
        var memories = new WebhookMemories();
        var now = DateTimeOffset.UnixEpoch;
        var claim = new byte[32];
        for (var i = 0; i < WebhookMemories.Most; i++)
        {
            Assert.True(memories.TryAdd(new WebhookMemoryKey($"{i}", 1, 2), claim, now + TimeSpan.FromMilliseconds(i == 7 ? -1 : i)));
        }

        now += TimeSpan.FromSeconds(10);
        Assert.False(memories.TryAdd(new WebhookMemoryKey("7", 1, 2), claim, now));
        Assert.True(memories.TryAdd(new WebhookMemoryKey("more", 1, 2), claim, now));
        Assert.Equal(WebhookMemories.Most, memories.Count);
        Assert.False(memories.TryAdd(new WebhookMemoryKey("8", 1, 2), claim, now));
        Assert.True(memories.TryAdd(new WebhookMemoryKey("7", 1, 2), claim, now));

        // Stale ones go at once.
        now += TimeSpan.FromMinutes(11);
        Assert.True(memories.TryAdd(new WebhookMemoryKey("later", 1, 2), claim, now));
        Assert.Equal(1, memories.Count);
    }

    [Fact]
    public void Both_sides_have_to_find_it_right()
    {
        var policy = new WebhookPolicy(
            Rule(WebhookProvider.GitLab, ["secret-of-the-server"]), Rule(WebhookProvider.GitHub, [GitHubSecret]), "a");
        var now = DateTimeOffset.UnixEpoch;
        Assert.Null(policy.TryBegin(Head("", ("X-Hub-Signature-256", GitHubSignature)), now));
        Assert.Null(policy.TryBegin(Head("", ("X-Gitlab-Token", "secret-of-the-server")), now));
        var checks = policy.TryBegin(
            Head("", ("X-Gitlab-Token", "secret-of-the-server"), ("X-Hub-Signature-256", GitHubSignature)), now)!;
        Assert.Equal([false, true], checks.Select(static check => check.NeedsBody));
        Assert.False(policy.Passes(checks, new WebhookMemories(), now));
    }

    [Fact]
    public void Remembered_signatures_are_bounded_and_forgotten_when_they_are_stale()
    {
        var replays = new WebhookReplays();
        var now = DateTimeOffset.UnixEpoch;
        var claim = new byte[32];
        for (var i = 0; i <= WebhookReplays.Most; i++)
        {
            BitConverter.TryWriteBytes(claim, i);
            Assert.True(replays.TryAdd(claim, now));
            Assert.False(replays.TryAdd(claim, now));
        }

        Assert.Equal(WebhookReplays.Most, replays.Count);
        Assert.True(replays.TryAdd(new byte[32], now + TimeSpan.FromMinutes(11)));
        Assert.Equal(1, replays.Count);
    }

    private static bool Passes(WebhookMemories memories, string owner, string signature, params string[] secrets)
    {
        var policy = new WebhookPolicy(null, Rule(WebhookProvider.Standard, secrets is [] ? [StandardSecret] : secrets), owner);
        var now = DateTimeOffset.FromUnixTimeSeconds(StandardTime);
        var head = Head(
            "", ("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek"), ("webhook-timestamp", $"{StandardTime}"),
            ("webhook-signature", signature));
        var checks = policy.TryBegin(head, now)!;
        checks[0].Append(Encoding.UTF8.GetBytes(StandardBody));
        return policy.Passes(checks, memories, now);
    }

    private static bool Check(WebhookProvider provider, string body, string[] secrets, params (string Name, string Value)[] fields) =>
        Check(provider, body, secrets, 0, "", fields);

    private static bool Check(
        WebhookProvider provider, string body, string[] secrets, long time, params (string Name, string Value)[] fields) =>
        Check(provider, body, secrets, time, "", fields);

    private static bool Check(
        WebhookProvider provider, string body, string[] secrets, long time, string url, params (string Name, string Value)[] fields)
    {
        var verifier = new WebhookVerifier(Rule(provider, secrets));
        using var check = verifier.TryBegin(Head(url, fields), DateTimeOffset.FromUnixTimeSeconds(time));
        foreach (var piece in Encoding.UTF8.GetBytes(body).Chunk(7))
        {
            check?.Append(piece);
        }

        return check?.IsRight() == true;
    }

    private static WebhookHead Head(string url, params (string Name, string Value)[] fields) => new(
        name => [.. fields.Where(field => field.Name.Equals(name, StringComparison.OrdinalIgnoreCase)).Select(static field => field.Value)],
        () => [url]);

    private static WebhookRule Rule(WebhookProvider provider, string[] secrets) =>
        new(provider, [.. secrets.Select(static secret => (ReadOnlyMemory<byte>)Encoding.UTF8.GetBytes(secret))]);
}
