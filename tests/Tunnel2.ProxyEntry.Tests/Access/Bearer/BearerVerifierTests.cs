using System.Net;
using System.Security.Cryptography;
using System.Text;
using System.Text.Json;
using Microsoft.Extensions.Logging.Abstractions;
using Tunnel2.ProxyEntry.Access.Bearer;
using Tunnel2.ProxyEntry.Access.Keys;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Limits;
using Tunnel2.TestUtilities;
using Tunnel2.TestUtilities.Tokens;

namespace Tunnel2.ProxyEntry.Tests.Access.Bearer;

/// <summary>Tokens of an issuer in memory, as its users and as attackers make them.</summary>
public sealed class BearerVerifierTests : IDisposable
{
    private const string Issuer = "https://id.example/";

    private static readonly TestSigningKey _rsa = TestSigningKey.Rsa("r");
    private static readonly BearerRule _rule = new(new TokenIssuer(Issuer, new Uri("https://id.example/keys")), "web");

    private readonly ManualTimeProvider _time = new();
    private readonly ScriptedIssuer _issuer = new() { Keys = TestSigningKey.ToSet(_rsa.ToJwk()) };
    private readonly BearerVerifier _verifier;

    public BearerVerifierTests()
    {
        // A timestamp of zero means that nothing has happened.
        _time.Advance(TimeSpan.FromSeconds(1));
        _verifier = new BearerVerifier(new KeyFetch(_issuer, _time), _time, NullLogger<BearerVerifier>.Instance);
    }

    public void Dispose() => _verifier.Dispose();

    [Theory]
    [InlineData("RS256")]
    [InlineData("RS384")]
    [InlineData("RS512")]
    [InlineData("PS256")]
    [InlineData("PS384")]
    [InlineData("PS512")]
    [InlineData("ES256")]
    [InlineData("ES384")]
    [InlineData("ES512")]
    public async Task A_token_with_a_right_signature_says_whose_it_is(string algorithm)
    {
        using var ec = TestSigningKey.Ec("e", algorithm switch
        {
            "ES384" => ECCurve.NamedCurves.nistP384,
            "ES512" => ECCurve.NamedCurves.nistP521,
            _ => ECCurve.NamedCurves.nistP256,
        });
        _issuer.Keys = TestSigningKey.ToSet(_rsa.ToJwk(), ec.ToJwk());
        await ExpectAsync(TokenState.Right, (algorithm[0] == 'E' ? ec : _rsa).Sign(algorithm, Claims()));
    }

    [Theory]
    [InlineData("aud", "other")]
    [InlineData("aud", "WEB")]
    [InlineData("aud", "web/")]
    [InlineData("aud", null)]
    [InlineData("iss", "https://id.example")]
    [InlineData("iss", null)]
    [InlineData("sub", null)]
    [InlineData("sub", "")]
    [InlineData("sub", "root\r\nX-Tunnel2-User: admin")]
    [InlineData("sub", "\u00e4")]
    [InlineData("sub", " root")]
    [InlineData("exp", null)]
    [InlineData("exp", "tomorrow")]
    public async Task Claims_that_are_not_those_of_the_rule_let_no_one_in(string name, string? value)
    {
        var claims = Claims();
        claims.Remove(name);
        if (value is not null)
        {
            claims[name] = value;
        }

        await ExpectAsync(TokenState.Invalid, _rsa.Sign("RS256", claims));
    }

    [Theory]
    [InlineData("alg", "none")]
    [InlineData("alg", "None")]
    [InlineData("alg", "HS256")]
    [InlineData("alg", "rs256")]
    [InlineData("alg", "RS1")]
    [InlineData("alg", "ES256")]
    [InlineData("alg", null)]
    [InlineData("typ", "logout+jwt")]
    [InlineData("typ", "JOSE")]
    [InlineData("crit", "b64")]
    public async Task A_header_that_asks_for_something_else_lets_no_one_in(string name, string? value)
    {
        await ExpectAsync(TokenState.Invalid, _rsa.Sign("RS256", Claims(), (name, value)));
    }

    [Fact]
    public async Task The_public_key_is_no_shared_secret()
    {
        foreach (var secret in new[] { _rsa.ToPublicPem(), Encoding.UTF8.GetBytes(_issuer.Keys), [] })
        {
            var token = TestSigningKey.Forge("HS256", Claims(), content => HMACSHA256.HashData(secret, content), ("kid", "r"));
            await ExpectAsync(TokenState.Invalid, token);
        }

        var none = TestSigningKey.Forge("none", Claims(), static _ => []);
        await ExpectAsync(TokenState.Invalid, none);
    }

    [Fact]
    public async Task A_key_that_the_issuer_publishes_for_something_else_checks_no_signature()
    {
        foreach (var jwk in new[] { _rsa.ToJwk(("use", "enc")), _rsa.ToJwk(("alg", "PS256")), _rsa.ToJwk(("kty", "oct"), ("k", "AAAA")) })
        {
            using var other = TestSigningKey.Ec("other", ECCurve.NamedCurves.nistP256);
            _issuer.Keys = TestSigningKey.ToSet(jwk, other.ToJwk());
            _time.Advance(IssuerKeys.Pause);
            await ExpectAsync(TokenState.Invalid, _rsa.Sign("RS256", Claims()));
        }
    }

    [Theory]
    [InlineData("""{"key_ops":["sign"]}""", false)]
    [InlineData("""{"key_ops":["encrypt","wrapKey"]}""", false)]
    [InlineData("""{"use":"sig","key_ops":["sign"]}""", false)]
    [InlineData("""{"use":"enc","key_ops":["verify"]}""", false)]
    [InlineData("""{"use":"SIG"}""", false)]
    [InlineData("""{"use":""}""", false)]
    [InlineData("""{"key_ops":[]}""", false)]
    [InlineData("""{"key_ops":"verify"}""", false)]
    [InlineData("""{"key_ops":{"verify":true}}""", false)]
    [InlineData("""{"key_ops":[1]}""", false)]
    [InlineData("""{"key_ops":null}""", false)]
    [InlineData("""{"use":"sig","kid":1}""", false)]
    [InlineData("""{"key_ops":["verify"]}""", true)]
    [InlineData("""{"key_ops":["sign","verify"]}""", true)]
    public async Task A_key_checks_signatures_where_its_use_and_its_operations_say_so(string members, bool isRight)
    {
        using var other = TestSigningKey.Ec("other", ECCurve.NamedCurves.nistP256);
        var jwk = _rsa.ToJwk().Replace("\"use\":\"sig\"", members[1..^1], StringComparison.Ordinal);
        _issuer.Keys = TestSigningKey.ToSet(jwk, other.ToJwk());
        await ExpectAsync(isRight ? TokenState.Right : TokenState.Invalid, _rsa.Sign("RS256", Claims()));
    }

    [Theory]
    [InlineData("exp", "\"4102444800\"")]
    [InlineData("exp", "true")]
    [InlineData("exp", "null")]
    [InlineData("nbf", "\"1\"")]
    [InlineData("nbf", "\"tomorrow\"")]
    [InlineData("nbf", "[1]")]
    [InlineData("nbf", "null")]
    [InlineData("iat", "\"1\"")]
    [InlineData("sub", "5")]
    [InlineData("sub", "true")]
    [InlineData("sub", "[\"alice\"]")]
    [InlineData("sub", "{\"a\":1}")]
    [InlineData("aud", "[\"web\",5]")]
    public async Task A_claim_of_another_kind_than_the_standard_gives_it_makes_a_token_invalid(string name, string json)
    {
        using var value = JsonDocument.Parse(json);
        await ExpectAsync(TokenState.Invalid, _rsa.Sign("RS256", Claims((name, value.RootElement))));
    }

    [Theory]
    [InlineData("}")]
    [InlineData("{\"sub\":\"root\"}")]
    [InlineData(" x")]
    [InlineData("\0")]
    public async Task What_follows_the_claims_makes_a_token_invalid(string junk)
    {
        await ExpectAsync(TokenState.Right, _rsa.Sign("RS256", Claims(("nbf", Now(0) + 0.5), ("exp", Now(60) + 0.5), ("iat", 1))));
        await ExpectAsync(TokenState.Invalid, _rsa.SignText("RS256", JsonSerializer.Serialize(Claims()) + junk));
        await ExpectAsync(TokenState.Right, _rsa.SignText("RS256", JsonSerializer.Serialize(Claims()) + "\n"));
    }

    [Fact]
    public async Task A_short_key_is_none()
    {
        using var weak = TestSigningKey.Rsa("weak", 1024);
        _issuer.Keys = TestSigningKey.ToSet(_rsa.ToJwk(), weak.ToJwk());
        await ExpectAsync(TokenState.Invalid, weak.Sign("RS256", Claims()));
    }

    [Fact]
    public async Task A_token_that_was_changed_or_signed_by_another_lets_no_one_in()
    {
        var parts = _rsa.Sign("RS256", Claims()).Split('.');
        var root = _rsa.Sign("RS256", Claims(("sub", "root"))).Split('.');
        await ExpectAsync(TokenState.Invalid, $"{parts[0]}.{root[1]}.{parts[2]}");
        await ExpectAsync(TokenState.Invalid, $"{parts[0]}.{parts[1]}.");
        await ExpectAsync(TokenState.Invalid, $"{parts[0]}.!.{parts[2]}");
        using var other = TestSigningKey.Rsa("r");
        await ExpectAsync(TokenState.Invalid, other.Sign("RS256", Claims()));
    }

    [Fact]
    public async Task A_token_without_the_name_of_its_key_is_tried_with_each()
    {
        using var other = TestSigningKey.Rsa("other");
        _issuer.Keys = TestSigningKey.ToSet(other.ToJwk(), _rsa.ToJwk());
        await ExpectAsync(TokenState.Right, _rsa.Sign("RS256", Claims(), ("kid", null)));
    }

    [Fact]
    public async Task Of_several_keys_with_one_name_each_is_tried()
    {
        using var other = TestSigningKey.Rsa("r");
        using var third = TestSigningKey.Rsa("r");
        _issuer.Keys = TestSigningKey.ToSet(other.ToJwk(), _rsa.ToJwk());
        await ExpectAsync(TokenState.Right, other.Sign("RS256", Claims()));
        await ExpectAsync(TokenState.Right, _rsa.Sign("RS256", Claims()));
        await ExpectAsync(TokenState.Invalid, third.Sign("RS256", Claims()));
    }

    [Fact]
    public async Task A_token_for_several_audiences_has_to_suit_both_rules()
    {
        var other = new BearerRule(_rule.Issuer, "staging");
        var both = Pending(_rsa.Sign("RS256", Claims(("aud", new[] { "web", "staging" }))));
        Assert.Equal(TokenState.Right, (await _verifier.CheckAsync(both, [_rule, other], default)).State);
        var one = Pending(_rsa.Sign("RS256", Claims()));
        Assert.Equal(TokenState.Invalid, (await _verifier.CheckAsync(one, [_rule, other], default)).State);
        Assert.Null(_verifier.FindUser(one.Key, [_rule, other]));
        Assert.NotNull(_verifier.FindUser(one.Key, [_rule]));
    }

    [Fact]
    public async Task Clocks_may_differ_by_a_minute_and_then_the_token_has_expired()
    {
        var token = _rsa.Sign("RS256", Claims());
        await ExpectAsync(TokenState.Right, token);
        _time.Advance(TimeSpan.FromSeconds(300 + 59));
        Assert.NotNull(_verifier.FindUser(Pending(token).Key, [_rule]));
        await ExpectAsync(TokenState.Right, token);
        _time.Advance(TimeSpan.FromSeconds(1));
        Assert.Null(_verifier.FindUser(Pending(token).Key, [_rule]));
        await ExpectAsync(TokenState.Expired, token);
    }

    [Fact]
    public async Task A_token_that_is_not_valid_yet_lets_no_one_in_before_its_time()
    {
        var token = _rsa.Sign("RS256", Claims(("nbf", Now(61))));
        await ExpectAsync(TokenState.Invalid, token);
        _time.Advance(TimeSpan.FromSeconds(1));
        await ExpectAsync(TokenState.Right, token);
    }

    [Fact]
    public async Task An_expired_token_that_is_forged_learns_nothing()
    {
        using var other = TestSigningKey.Rsa("r");
        await ExpectAsync(TokenState.Invalid, other.Sign("RS256", Claims(("exp", Now(-1000)))));
    }

    [Fact]
    public async Task A_known_token_needs_no_check_and_the_keys_no_fetch()
    {
        var token = _rsa.Sign("RS256", Claims());
        Assert.Null(_verifier.FindUser(Pending(token).Key, [_rule]));
        await ExpectAsync(TokenState.Right, token);
        Assert.Equal("alice"u8.ToArray(), _verifier.FindUser(Pending(token).Key, [_rule]));
        Assert.Null(_verifier.FindUser(Pending(token).Key, [new BearerRule(_rule.Issuer, "staging")]));
        Assert.Equal(1, _issuer.Calls);
    }

    [Fact]
    public async Task A_new_key_is_fetched_once_for_all_who_ask_and_then_not_for_a_while()
    {
        await ExpectAsync(TokenState.Right, _rsa.Sign("RS256", Claims()));
        using var next = TestSigningKey.Rsa("next");
        var token = next.Sign("RS256", Claims());

        // The keys were fetched a moment ago, so a name that is not among them is taken for an attack.
        await ExpectAsync(TokenState.Invalid, token);
        Assert.Equal(1, _issuer.Calls);
        _time.Advance(IssuerKeys.Pause);
        var held = new TaskCompletionSource<HttpResponseMessage>(TaskCreationOptions.RunContinuationsAsynchronously);
        _issuer.Answer = (_, _) => held.Task;
        var checks = Enumerable.Range(0, 50).Select(_ => _verifier.CheckAsync(Pending(token), [_rule], default)).ToArray();
        held.SetResult(ScriptedIssuer.Json(TestSigningKey.ToSet(_rsa.ToJwk(), next.ToJwk())));
        Assert.All(await Task.WhenAll(checks), static verdict => Assert.Equal(TokenState.Right, verdict.State));
        Assert.Equal(2, _issuer.Calls);
        for (var i = 0; i < 50; i++)
        {
            await ExpectAsync(TokenState.Invalid, next.Sign("RS256", Claims(), ("kid", $"k{i}")));
        }

        Assert.Equal(2, _issuer.Calls);
    }

    [Fact]
    public async Task A_key_that_the_issuer_withdraws_opens_nothing_any_more()
    {
        var token = Pending(_rsa.Sign("RS256", Claims()));
        Assert.Equal(TokenState.Right, (await _verifier.CheckAsync(token, [_rule], default)).State);
        using var next = TestSigningKey.Rsa("next");
        _issuer.Keys = TestSigningKey.ToSet(next.ToJwk());
        _time.Advance(IssuerKeys.Pause);
        await ExpectAsync(TokenState.Right, next.Sign("RS256", Claims()));
        Assert.Null(_verifier.FindUser(token.Key, [_rule]));
        Assert.Equal(TokenState.Invalid, (await _verifier.CheckAsync(token, [_rule], default)).State);
    }

    [Theory]
    [InlineData("r")]
    [InlineData(null)]
    public async Task A_key_that_takes_the_place_of_another_one_is_fetched_also_where_its_name_is_the_same_or_tokens_name_none(string? name)
    {
        var old = Pending(_rsa.Sign("RS256", Claims(), ("kid", name)));
        Assert.Equal(TokenState.Right, (await _verifier.CheckAsync(old, [_rule], default)).State);
        using var next = TestSigningKey.Rsa("r");
        _issuer.Keys = TestSigningKey.ToSet(next.ToJwk());
        var token = next.Sign("RS256", Claims(), ("kid", name));
        await ExpectAsync(TokenState.Invalid, token);
        Assert.Equal(1, _issuer.Calls);
        _time.Advance(IssuerKeys.Pause);
        await ExpectAsync(TokenState.Right, token);
        Assert.Null(_verifier.FindUser(old.Key, [_rule]));

        // Forged ones lead to no more calls than others that name an unknown key.
        using var forger = TestSigningKey.Rsa("r");
        for (var i = 0; i < 50; i++)
        {
            await ExpectAsync(TokenState.Invalid, forger.Sign("RS256", Claims(), ("kid", name)));
        }

        Assert.Equal(2, _issuer.Calls);
    }

    [Fact]
    public async Task Keys_that_vanish_are_used_for_a_day_and_then_tokens_cannot_be_checked()
    {
        var claims = Claims(("exp", Now(10 * 86_400)));
        var token = Pending(_rsa.Sign("RS256", claims));
        Assert.Equal(TokenState.Right, (await _verifier.CheckAsync(token, [_rule], default)).State);
        _issuer.Answer = static (_, _) => Task.FromResult(new HttpResponseMessage(HttpStatusCode.NotFound));
        _time.Advance(IssuerKeys.KeptFor - TimeSpan.FromSeconds(1));
        Assert.NotNull(_verifier.FindUser(token.Key, [_rule]));
        await ExpectAsync(TokenState.Right, _rsa.Sign("RS256", claims, ("x", "y")));
        _time.Advance(TimeSpan.FromSeconds(1));
        Assert.Null(_verifier.FindUser(token.Key, [_rule]));
        Assert.Equal(TokenState.Unchecked, (await _verifier.CheckAsync(token, [_rule], default)).State);
        _issuer.Answer = null;
        _time.Advance(IssuerKeys.LongestPause);
        Assert.Equal(TokenState.Right, (await _verifier.CheckAsync(token, [_rule], default)).State);
    }

    [Fact]
    public async Task An_issuer_that_fails_is_asked_ever_more_rarely()
    {
        _issuer.Answer = static (_, _) => Task.FromResult(new HttpResponseMessage(HttpStatusCode.ServiceUnavailable));
        var token = _rsa.Sign("RS256", Claims(("exp", Now(86_400))));
        await ExpectAsync(TokenState.Unchecked, token);
        for (var second = 0; second < 3600; second++)
        {
            _time.Advance(TimeSpan.FromSeconds(1));
            await ExpectAsync(TokenState.Unchecked, token);
        }

        // After 2, 4, 8 … 256 s, then every 300 s.
        Assert.InRange(_issuer.Calls, 15, 20);
        _issuer.Answer = null;
        _time.Advance(IssuerKeys.LongestPause);
        await ExpectAsync(TokenState.Right, token);
    }

    [Fact]
    public async Task An_answer_of_the_issuer_that_was_not_expected_is_a_failure_as_others_are()
    {
        _issuer.Answer = static (_, _) => throw new InvalidOperationException("whatever a library throws");
        var token = _rsa.Sign("RS256", Claims(("exp", Now(86_400))));
        await ExpectAsync(TokenState.Unchecked, token);
        _issuer.Answer = null;
        _time.Advance(IssuerKeys.LongestPause);
        await ExpectAsync(TokenState.Right, token);
    }

    [Fact]
    public async Task A_visitor_that_leaves_waits_for_no_keys()
    {
        var held = new TaskCompletionSource<HttpResponseMessage>(TaskCreationOptions.RunContinuationsAsynchronously);
        _issuer.Answer = (_, _) => held.Task;
        using var left = new CancellationTokenSource();
        var token = Pending(_rsa.Sign("RS256", Claims()));
        var check = _verifier.CheckAsync(token, [_rule], left.Token);
        var other = _verifier.CheckAsync(token, [_rule], default);
        await left.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => check);
        held.SetResult(ScriptedIssuer.Json(_issuer.Keys));
        Assert.Equal(TokenState.Right, (await other).State);
    }

    [Fact]
    public async Task More_tokens_than_may_wait_are_not_checked()
    {
        var held = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        _issuer.Answer = async (_, _) =>
        {
            await held.Task;
            return ScriptedIssuer.Json(_issuer.Keys);
        };
        var token = _rsa.Sign("RS256", Claims());
        var visitors = 0ul;
        List<Task<TokenVerdict>> waiting = [.. CheckAll(_rule)];
        await ExpectUncheckedAsync(_rule);
        for (var issuer = 1; waiting.Count < BearerVerifier.Most; issuer++)
        {
            // An issuer that does not answer holds up its own tunnels alone.
            waiting.AddRange(CheckAll(RuleOf(issuer)));
            await ExpectUncheckedAsync(RuleOf(issuer));
        }

        await ExpectUncheckedAsync(RuleOf(99));
        held.SetResult();
        Assert.All(await Task.WhenAll(waiting), static verdict => Assert.Equal(TokenState.Right, verdict.State));
        await ExpectAsync(TokenState.Right, token);

        static BearerRule RuleOf(int number) =>
            _rule with { Issuer = new TokenIssuer(Issuer, new Uri($"https://id.example/keys/{number}")) };

        IEnumerable<Task<TokenVerdict>> CheckAll(BearerRule rule) =>
            Enumerable.Range(0, BearerVerifier.MostOfIssuer).Select(_ => CheckAsync(rule));

        async Task ExpectUncheckedAsync(BearerRule rule) => Assert.Equal(TokenState.Unchecked, (await CheckAsync(rule)).State);

        // Each visitor has an address of its own.
        Task<TokenVerdict> CheckAsync(BearerRule rule) =>
            _verifier.CheckAsync(Pending(token, new AddressKey(1, visitors++)), [rule], default);
    }

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(4)]
    public async Task A_few_addresses_leave_places_to_the_tokens_of_others(int addresses)
    {
        var held = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        _issuer.Answer = async (_, _) =>
        {
            await held.Task;
            return ScriptedIssuer.Json(_issuer.Keys);
        };
        var (token, flooding) = (_rsa.Sign("RS256", Claims()), new AddressKey(1, 0));
        var flood = Enumerable.Range(0, BearerVerifier.Most)
            .Select(i => _verifier.CheckAsync(Pending($"{token}{i}", new AddressKey(1, (ulong)(i % addresses))), [_rule], default))
            .ToArray();
        var more = await _verifier.CheckAsync(Pending(token, flooding), [_rule], default);
        Assert.Equal(TokenState.Unchecked, more.State);
        var right = _verifier.CheckAsync(Pending(token, new AddressKey(2, 0)), [_rule], default);
        held.SetResult();
        Assert.Equal(TokenState.Right, (await right).State);
        await Task.WhenAll(flood);
        more = await _verifier.CheckAsync(Pending(token, flooding), [_rule], default);
        Assert.Equal(TokenState.Right, more.State);
    }

    [Fact]
    public void Remembered_tokens_are_bounded()
    {
        var cache = new TokenCache();
        var keys = KeySet.Parse(Encoding.UTF8.GetBytes(_issuer.Keys));
        var known = new KnownToken([1], DateTimeOffset.MaxValue, keys);
        for (var i = 0; i < TokenCache.Most + 100; i++)
        {
            cache.Add(new TokenKey(LoginKey.Of(BitConverter.GetBytes(i)), _rule), known);
        }

        Assert.Equal(TokenCache.Most, cache.Count);
        Assert.Null(cache.Find(new TokenKey(LoginKey.Of(BitConverter.GetBytes(99)), _rule), keys));
        Assert.Same(known, cache.Find(new TokenKey(LoginKey.Of(BitConverter.GetBytes(100)), _rule), keys));
    }

    private static PendingToken Pending(string token, AddressKey from = default) =>
        new(token, LoginKey.Of(Encoding.ASCII.GetBytes(token)), from);

    private async Task ExpectAsync(TokenState expected, string token)
    {
        var verdict = await _verifier.CheckAsync(Pending(token), [_rule], default);
        Assert.Equal(expected, verdict.State);
        Assert.Equal(expected == TokenState.Right ? "alice" : null, verdict.User is { } user ? Encoding.ASCII.GetString(user) : null);
    }

    private long Now(int seconds) => _time.GetUtcNow().ToUnixTimeSeconds() + seconds;

    private Dictionary<string, object> Claims(params (string Name, object Value)[] members)
    {
        var claims = new Dictionary<string, object> { ["iss"] = Issuer, ["aud"] = "web", ["sub"] = "alice", ["exp"] = Now(300) };
        foreach (var (name, value) in members)
        {
            claims[name] = value;
        }

        return claims;
    }
}
